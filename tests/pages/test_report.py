"""``report.html`` in a real browser, opened from disk."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import CONTRASTS, needs_browser, open_browser, open_page
from tests.pages.runs import SLOWLY, toy_run
from tests.report.runs import VERSIONS, MadeTask, tasks_of, written
from yardarm.comparison import compare, read_runs
from yardarm.pages import write_comparison_page, write_report, write_several_report
from yardarm.policies import PolicySpec
from yardarm.replay import StoredRun, draw_missing
from yardarm.results import PolicyEntry, RunFolder, SeveralFolder

pytestmark = needs_browser
NASTY = "reach</script><script>document.title='broken'</script>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "mover"
    toy_run(path)
    return path


def open_report(page: Page, path: Path) -> None:
    page.goto(path.as_uri())
    page.locator("#made").wait_for(state="attached")


def test_every_run_leaves_a_report_that_shows_it(browser: Browser, run: Path) -> None:
    with open_page(browser) as page:
        open_report(page, run / "report.html")
        expect(page.locator("h1")).to_contain_text("toy-mover")
        expect(page.locator(".under-title")).to_have_text("mover · toy, 2 tasks")
        expect(page.locator(".rate")).to_have_text("58.3%")
        expect(page.locator("#headline")).to_contain_text("7 of 12 episodes solved")
        expect(page.locator("#headline")).to_contain_text("95% interval 32.0% – 80.7%")
        expect(page.locator("#forest tbody tr")).to_have_count(3)
        expect(page.locator("#heat a.cell")).to_have_count(12)
        expect(page.locator("#heat a.cell.success")).to_have_count(7)
        for part in ("step", "rendering", "policy inference", "waiting"):
            expect(page.locator("#timing")).to_contain_text(part)
        expect(page.locator("#made")).to_contain_text("--config_path=")


@pytest.fixture(scope="module")
def pictured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "pictured"
    toy_run(path, pictures=0)
    draw_missing(StoredRun(RunFolder(path)), 60)
    return write_report(RunFolder(path))


def test_the_first_screen_shows_how_failures_ended(browser: Browser, pictured: Path) -> None:
    with open_page(browser) as page:
        page.set_viewport_size({"width": 1200, "height": 800})
        open_report(page, pictured)
        shots = page.locator("#pictures .shot")
        expect(shots).to_have_count(7)
        expect(shots.first).to_be_in_viewport(ratio=1)
        expect(shots.last).to_be_in_viewport(ratio=1)
        expect(page.locator("#pictures .failure")).to_have_count(5)
        assert page.locator("#pictures img").evaluate_all("(all) => all.every((own) => own.naturalWidth === 320)")
        alt = shots.first.locator("img").get_attribute("alt") or ""
        assert re.fullmatch(r"left, episode \d: failure after 11 steps", alt)
        shots.first.click()
        expect(page.locator("#episode h2")).to_have_text(alt.partition(":")[0])
        expect(page.locator("#episode img")).to_be_in_viewport()
        expect(page.locator("#episode")).to_contain_text("yardarm replay")


def test_the_contents_lead_to_each_section(browser: Browser, pictured: Path) -> None:
    with open_page(browser) as page:
        open_report(page, pictured)
        names = ["Tasks", "Episode map", "Episodes, failures first", "Rewards and lengths", "Time", "How it was made"]
        expect(page.locator(".contents a")).to_have_text(names)
        page.locator(".contents a").nth(3).click()
        expect(page.locator("#course h2")).to_be_in_viewport()
        expect(page.locator(".contents")).to_be_in_viewport()
        expect(page.locator(".contents [aria-current]")).to_have_text("Rewards and lengths")


@pytest.mark.parametrize("width", [375, 800, 1200])
def test_no_column_of_a_comparison_is_cut_off(browser: Browser, tmp_path: Path, width: int) -> None:
    tasks = ["reach-v3", "push-v3", "door-open-v3", "pick-place-wall-v3", "basketball-v3"]
    for step, letters in {20000: "sfffffffff", 40000: "ssssffffff", 60000: "sssssssfff", 80000: "ssssssssss"}.items():
        path = f"/home/me/outputs/train/act_metaworld/checkpoints/{step:06d}/pretrained_model"
        outcomes = dict.fromkeys(tasks, letters)
        written(
            tmp_path / f"act_metaworld_{step:06d}", tasks_of(outcomes), f"act-{step:012x}", described={"path": path}
        )
    runs = read_runs(sorted(tmp_path.iterdir()))
    page_path = write_comparison_page(compare(runs), runs, tmp_path / "comparison.html")
    with open_page(browser, width=width) as page:
        page.goto(page_path.as_uri())
        expect(page.locator("#comparison tbody tr").first).to_contain_text("act_metaworld/020000 act-000000004e20")
        hidden = "(all) => all.filter((own) => own.scrollWidth > own.clientWidth + 1).map((own) => own.ariaLabel)"
        assert page.locator(".scroll").evaluate_all(hidden) == []
        assert page.evaluate("document.documentElement.scrollWidth") == width
        marks = page.locator("#over-steps .mark")  # checkpoints of one training
        expect(marks).to_have_count(4)
        assert "step 80,000, 100.0%, 50/50, interval" in (marks.last.get_attribute("aria-label") or "")


def test_a_report_asks_the_network_for_nothing(browser: Browser, run: Path) -> None:
    with open_page(browser) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        open_report(page, run / "report.html")
    assert [url for url in asked if not url.startswith("data:")] == [(run / "report.html").as_uri()]


def test_a_cell_leads_to_its_episode_and_back(browser: Browser, run: Path) -> None:
    with open_page(browser) as page:
        open_report(page, run / "report.html")
        cell = page.locator("#heat a.cell.failure").first
        label = cell.get_attribute("aria-label")
        assert label
        named = re.fullmatch(r"(\w+), episode (\d+), seed (\d+): failure after 11 steps", label)
        assert named
        cell.click()
        expect(page.locator("#episode h2")).to_have_text(f"{named[1]}, episode {named[2]}")
        expect(page.locator("#episode")).to_contain_text(f"yardarm replay {run} --task={named[1]} --episode={named[2]}")
        expect(page.locator("#episode")).to_be_in_viewport()
        page.go_back()
        expect(page.locator("#episode")).to_be_hidden()


def test_the_keyboard_moves_between_cells(browser: Browser, run: Path) -> None:
    with open_page(browser) as page:
        open_report(page, run / "report.html")
        page.locator("#heat a.cell").first.focus()
        for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft"):
            page.keyboard.press(key)
        label = page.evaluate("() => document.activeElement.getAttribute('aria-label')")
        assert label.startswith("right, episode 1,")
        assert page.locator("#heat a.cell[tabindex='0']").count() == 1
        page.keyboard.press("Enter")
        expect(page.locator("#episode h2")).to_have_text("right, episode 1")


def test_failures_come_first_and_tables_can_be_sorted_and_filtered(browser: Browser, run: Path) -> None:
    with open_page(browser) as page:
        open_report(page, run / "report.html")
        rows = page.locator("#episodes tbody tr")
        assert [text.split()[1] for text in rows.all_inner_texts()] == ["failure"] * 5 + ["success"] * 7
        page.locator("#episodes").get_by_role("button", name="Steps").click()
        steps = [int(text) for text in page.locator("#episodes tbody td:nth-child(5)").all_inner_texts()]
        assert steps == sorted(steps, reverse=True)
        assert len(set(steps)) > 1
        page.locator("#episodes").get_by_role("combobox", name="Outcome").select_option("s")
        expect(rows).to_have_count(7)


def test_a_video_beside_the_report_plays_in_it(browser: Browser, tmp_path: Path) -> None:
    toy_run(tmp_path / "filmed", n_episodes=2, videos=1)
    with open_page(browser) as page:
        page.goto((tmp_path / "filmed" / "report.html").as_uri() + "#episode=toy%2Fleft/0")
        video = page.locator("#episode video")
        video.evaluate("(video) => video.play()")
        assert video.evaluate("(video) => video.videoWidth") > 0


def test_a_run_against_another_shows_where_they_disagree(browser: Browser, tmp_path: Path) -> None:
    result = toy_run(tmp_path / "duel", against=PolicySpec(SLOWLY))
    with open_page(browser) as page:
        open_report(page, tmp_path / "duel" / "report.html")
        expect(page.locator("#comparison")).to_contain_text("A is better than B")
        expect(page.locator("#differences tbody tr")).to_have_count(3)
        disagreements = page.locator("#disagreements tbody tr")
        expect(disagreements).to_have_count(result.counts.successes)
        expect(disagreements.first).to_contain_text("success")
        expect(disagreements.first).to_contain_text("failure")


def test_a_run_that_stopped_early_is_not_judged_by_other_tests(browser: Browser, tmp_path: Path) -> None:
    toy_run(tmp_path / "duel", n_episodes=15, against=PolicySpec(SLOWLY), stop="decided")
    with open_page(browser) as page:
        open_report(page, tmp_path / "duel" / "report.html")
        expect(page.locator("#headline")).to_contain_text("exact sequential McNemar test")
        heads = " ".join(page.locator("#comparison thead th, #differences thead th").all_inner_texts())
        assert "A − B" in heads
        assert "interval" not in heads
        assert " p " not in heads


def test_several_runs_are_compared_on_one_page(browser: Browser, tmp_path: Path) -> None:
    outcomes = {"best": "sssssssssssf", "good": "ssssssssffff", "poor": "ffffffffffff"}
    paths = [written(tmp_path / name, tasks_of({"reach-v3": own})) for name, own in outcomes.items()]
    runs = read_runs(paths)
    page_path = write_comparison_page(compare(runs), runs, tmp_path / "comparison.html")
    with open_page(browser) as page:
        page.goto(page_path.as_uri())
        expect(page.locator("#comparison tbody tr")).to_have_count(3)
        expect(page.locator("#pairs tbody tr")).to_have_count(3)
        expect(page.locator("#disagreements tbody tr")).to_have_count(11)


def test_many_policies_are_shown_by_task_and_lead_to_their_runs(browser: Browser, tmp_path: Path) -> None:
    folder = SeveralFolder(tmp_path / "night")
    names = [f"{step:06d}" for step in range(1, 12)]
    for place, name in enumerate(names):
        run = written(folder.run(name).path, tasks_of({"reach-v3": "s" * place + "f" * (10 - place), "push-v3": "sf"}))
        write_report(RunFolder(run))
    folder.write_index({}, [PolicyEntry(name, f"act-{name}", name) for name in names])
    with open_page(browser) as page:
        page.goto(write_several_report(folder).as_uri())
        expect(page.locator("h1")).to_have_text("night: 11 policies")
        expect(page.locator("#by-task tbody tr")).to_have_count(11)
        expect(page.locator("#by-task tbody tr").nth(3)).to_contain_text("30.0% 3/10")
        expect(page.locator("#disagreements tbody tr").first).to_contain_text("10 of 11")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.locator("#comparison").get_by_role("link", name="000004").click()
        expect(page.locator("h1")).to_contain_text("000004")


def test_a_run_that_is_not_finished_says_so_first(browser: Browser, tmp_path: Path) -> None:
    folder = written(tmp_path / "run", tasks_of({"reach-v3": "sss"}), n_episodes=40, status="interrupted")
    write_report(RunFolder(folder))
    with open_page(browser) as page:
        open_report(page, folder / "report.html")
        warning = page.locator("#headline .warning")
        expect(warning).to_contain_text("Not finished (interrupted): 3 of 40 episodes.")
        expect(warning).to_contain_text("rates may be too high")
        expect(page.locator("#headline")).not_to_contain_text("you can tell")


def test_p_values_of_tasks_allow_for_their_number(browser: Browser, tmp_path: Path) -> None:
    better, worse = {"one": "ssssss", "two": "ssssss"}, {"one": "ffffff", "two": "ssssss"}
    paths = [written(tmp_path / name, tasks_of(own)) for name, own in (("a", better), ("b", worse))]
    runs = read_runs(paths)
    page_path = write_comparison_page(compare(runs), runs, tmp_path / "comparison.html")
    with open_page(browser) as page:
        page.goto(page_path.as_uri())
        row = page.locator("#differences tbody tr", has_text="one")
        expect(row).to_contain_text("0.063")  # 0.031, for two tasks
        expect(page.locator("#differences thead")).to_contain_text("p (Holm)")


def test_negative_rewards_stay_in_their_plot(browser: Browser, run: Path) -> None:
    with open_page(browser) as page:
        open_report(page, run / "report.html")
        zeros = page.locator("svg.curves line.grid").evaluate_all("(all) => all.map((line) => line.getAttribute('y1'))")
        assert zeros
        assert all(0 <= float(y) <= 90 for y in zeros)


def test_names_cannot_break_the_page(browser: Browser, tmp_path: Path) -> None:
    folder = written(tmp_path / "run", [MadeTask(NASTY, "sf")], policy="<img src=x onerror=alert(1)>")
    write_report(RunFolder(folder))
    with open_page(browser) as page:
        open_report(page, folder / "report.html")
        expect(page).to_have_title(re.compile("run"))
        expect(page.locator("#forest")).to_contain_text("</script>")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 360])
def test_a_report_fits_and_can_be_read_in_any_width_and_light(
    browser: Browser, run: Path, width: int, scheme: str
) -> None:
    with open_page(browser, width, scheme) as page:
        open_report(page, run / "report.html")
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        for contrast in page.evaluate(CONTRASTS):
            assert contrast["ratio"] >= 4.5, contrast


def test_the_colours_can_be_chosen(browser: Browser, run: Path) -> None:
    with open_page(browser) as page:
        open_report(page, run / "report.html")
        page.get_by_role("button", name="Colours").click()
        page.get_by_role("button", name="Colours").click()
        assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
        page.reload()
        assert page.evaluate("() => document.documentElement.dataset.theme") == "dark"


def test_every_picture_and_field_has_a_name(browser: Browser, run: Path) -> None:
    with open_page(browser) as page:
        open_report(page, run / "report.html")
        unnamed = "svg[role=img]:not([aria-label]), a.cell:not([aria-label]), svg:not([role])"
        expect(page.locator(unnamed)).to_have_count(0)
        names = page.locator("#episodes select").evaluate_all("(all) => all.map((one) => one.labels.length)")
        assert names == [1, 1]


def test_a_run_of_mixed_versions_says_so_and_shows_those_of_all_sessions(browser: Browser, tmp_path: Path) -> None:
    before = {"versions": {**VERSIONS, "mujoco": "3.0.1"}, "batch_size": 2, "environment_variables": {}}
    run = written(
        tmp_path / "run",
        tasks_of({"reach-v3": "ssf"}),
        sessions=[{**before, "session_started": "2026-11-15T10:00:00+00:00"}] * 2,
        session_started="2026-11-16T09:17:43+00:00",
        environment_variables={"MKL_CBWR": "COMPATIBLE"},
    )
    write_report(RunFolder(run))
    with open_page(browser) as page:
        open_report(page, run / "report.html")
        newest = VERSIONS["mujoco"]
        expect(page.locator("#headline .warning")).to_contain_text(f"Mixed versions (mujoco 3.0.1 and {newest})")
        versions, variables = page.locator("#made details", has=page.locator("table")).all()
        versions.locator("summary").click()
        expect(versions.locator("thead th").nth(1)).to_contain_text("15 Nov 2026, 10:00 and 1 more")
        row = versions.locator("tr", has_text="mujoco")
        assert row.locator("strong").all_inner_texts() == ["3.0.1", newest]
        assert versions.locator("tr", has_text="metaworld").locator("strong").count() == 0
        variables.locator("summary").click()
        assert variables.locator("tr", has_text="MKL_CBWR").locator("td").all_inner_texts() == ["–", "COMPATIBLE"]
