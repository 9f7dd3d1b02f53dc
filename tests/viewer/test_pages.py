"""The viewer's pages in a real browser: open, sort, filter, follow a cell to its episode, watch it, compare."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import needs_browser, open_browser, open_page, wait_for_videos
from tests.pages.runs import SLOWLY, toy_run
from tests.report.runs import tasks_of, written
from tests.viewer.served import unlikely_port, viewing
from yardarm.policies import PolicySpec

pytestmark = needs_browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    toy_run(folder / "mover", n_episodes=4)
    toy_run(folder / "slowly", SLOWLY, n_episodes=4)
    toy_run(folder / "duel", n_episodes=2, against=PolicySpec(SLOWLY))
    written(folder / "broken", tasks_of({"reach-v3": "s"}))
    (folder / "broken" / "manifest.json").write_text("{")
    return folder


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with viewing(folder) as address:
        yield address


def names(page: Page) -> list[str]:
    return [text.split("\n")[0] for text in page.locator("tbody th").all_inner_texts()]


def test_the_list_is_sorted_and_filtered(browser: Browser, address: str) -> None:
    with open_page(browser) as page:
        page.goto(address)
        expect(page.locator("tbody tr")).to_have_count(4)
        page.get_by_role("button", name="Unfold duel").click()
        page.locator("thead button", has_text="Run").click()
        assert names(page) == ["broken", "duel", "against", "mover", "slowly"]
        page.locator("thead button", has_text="Run").click()
        assert names(page)[0] == "slowly"
        page.get_by_role("button", name="Success").click()
        assert page.locator("thead th[aria-sort=descending]").inner_text().startswith("Success")
        assert names(page)[-1] == "broken"
        page.get_by_role("searchbox").fill("slowly finished")
        assert sorted(names(page)) == ["against", "duel", "slowly"]  # what fits is shown with what it lies in
        page.get_by_role("combobox", name="Group by").select_option("none")
        assert sorted(names(page)) == ["duel/against", "slowly"]
        expect(page.get_by_text("2 of 5 runs")).to_be_visible()


def test_a_damaged_run_says_what_is_wrong(browser: Browser, address: str) -> None:
    with open_page(browser) as page:
        page.goto(address)
        row = page.locator("tbody tr", has_text="broken")
        expect(row).to_contain_text("damaged")
        expect(row).to_contain_text("manifest.json is damaged")


def test_from_the_list_to_a_run_to_an_episode_to_its_video(browser: Browser, address: str) -> None:
    with open_page(browser) as page:
        page.goto(address)
        page.get_by_role("link", name="mover", exact=True).click()
        expect(page.locator(".rate")).to_be_visible(timeout=30_000)  # a new viewer imports what it computes with
        expect(page.locator("#heat a.cell")).to_have_count(8)
        page.locator("#heat a.cell").nth(1).click()
        expect(page.locator("h1")).to_have_text("left, episode 1")
        wait_for_videos(page)
        expect(page.locator(".timeline")).to_have_count(3)  # rewards, actions, and states that the replay brought
        page.get_by_role("button", name="Play").click()
        expect(page.get_by_role("button", name="Play")).to_be_visible()  # it has come to its end
        expect(page.locator("output")).to_have_text(re.compile(r"step (\d+) of \1"))


def test_pictures_appear_on_an_open_page_and_lead_to_their_videos(browser: Browser, tmp_path: Path) -> None:
    toy_run(tmp_path / "run", SLOWLY, n_episodes=1, pictures=0)
    with viewing(tmp_path) as address, open_page(browser) as page:
        page.goto(f"{address}/run?run=run")
        expect(page.locator(".rate")).to_be_visible(timeout=30_000)
        expect(page.locator("#pictures .shot")).to_have_count(2, timeout=60_000)
        assert (
            page.locator("#pictures img").first.evaluate("async (own) => (await own.decode(), own.naturalWidth)") == 320
        )
        page.locator("#pictures .shot").first.click()
        expect(page.locator("h1")).to_have_text("left, episode 0")
        wait_for_videos(page)


def test_the_scrub_bar_moves_the_video_and_the_plots(browser: Browser, address: str) -> None:
    with open_page(browser) as page:
        page.goto(f"{address}/episode?run=mover&task=toy/left&index=2")
        wait_for_videos(page)
        page.get_by_role("slider", name="Step").fill("4")
        expect(page.locator("output")).to_contain_text("step 4 of")
        assert page.locator("video").evaluate("(video) => video.currentTime") == pytest.approx(4 / 20, abs=0.01)
        cursors = page.locator(".cursor").evaluate_all("(all) => all.map((line) => line.getAttribute('x1'))")
        assert len(cursors) == 3
        assert len(set(cursors)) == 1
        assert float(cursors[0]) > 0
        page.locator("h1").click()
        page.keyboard.press("ArrowRight")
        expect(page.locator("output")).to_contain_text("step 5 of")
        plot = page.locator(".timeline svg").first
        plot.click(position={"x": 1, "y": 20})
        expect(page.locator("output")).to_contain_text("step 0 of")


def test_a_second_camera_is_rendered_on_request(browser: Browser, address: str, folder: Path) -> None:
    with open_page(browser) as page:
        page.goto(f"{address}/episode?run=mover&task=toy/right&index=0")
        wait_for_videos(page)
        page.get_by_role("combobox", name="Camera").select_option("side")
        expect(page.locator("video")).to_have_attribute("src", re.compile("camera=side"))
        wait_for_videos(page)
    videos = sorted(path.name for path in (folder / "mover/videos/toy/right").glob("episode_00000_*.mp4"))
    assert videos == ["episode_00000_front.mp4", "episode_00000_side.mp4"]


def test_chosen_runs_are_compared_and_watched_side_by_side(browser: Browser, address: str) -> None:
    with open_page(browser) as page:
        page.goto(address)
        expect(page.get_by_role("button", name="Compare")).to_be_disabled()
        for name in ("mover", "slowly"):
            page.get_by_label(f"Select {name}", exact=True).check()
        page.get_by_role("button", name="Compare 2 runs").click()
        expect(page.locator("#comparison tbody tr")).to_have_count(2)
        page.locator("#disagreements tbody a").first.click()
        wait_for_videos(page, 2)
        expect(page.locator(".side h2")).to_have_text([re.compile("mover.*success"), re.compile("slowly.*failure")])
        page.get_by_role("slider", name="Step").fill("3")
        times = page.locator("video").evaluate_all("(all) => all.map((video) => video.currentTime)")
        assert times[0] == times[1] > 0


def test_a_duel_leads_to_both_of_its_videos(browser: Browser, address: str) -> None:
    with open_page(browser) as page:
        page.goto(f"{address}/run?run=duel")
        page.locator("#disagreements tbody a").first.click()
        wait_for_videos(page, 2)


def test_runs_that_cannot_be_compared_say_why(browser: Browser, address: str, tmp_path: Path) -> None:
    written(tmp_path / "a", tasks_of({"reach-v3": "sf"}))
    written(tmp_path / "b", tasks_of({"push-v3": "sf"}))
    with viewing(tmp_path) as other, open_page(browser, refused=True) as page:
        page.goto(f"{other}/compare?run=a&run=b")
        expect(page.get_by_role("alert")).to_contain_text("have no task in common")
        page.goto(f"{other}/run?run=nothing")
        expect(page.get_by_role("alert")).to_contain_text("there is no run 'nothing'")


def test_the_list_and_the_page_follow_a_run_that_goes_on(browser: Browser, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "mover", tmp_path / "mover")
    journal = tmp_path / "mover" / "episodes.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:3]))
    manifest = tmp_path / "mover" / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "status": "running"}))
    with viewing(tmp_path) as address, open_page(browser) as runs, open_page(browser) as run:
        runs.goto(address)
        run.goto(f"{address}/run?run=mover")
        expect(runs.locator("tbody tr")).to_contain_text("3/8")
        expect(run.locator("#heat a.cell")).to_have_count(3)
        run.locator("#made details").first.locator("summary").click()
        run.locator("#episodes").get_by_role("combobox", name="Outcome").select_option("f")
        run.locator("#heat a.cell").nth(1).focus()
        focused = run.evaluate("() => document.activeElement.getAttribute('aria-label')")
        with journal.open("a") as file:
            file.write("".join(lines[3:]))
        expect(runs.locator("tbody tr")).to_contain_text("8/8")
        expect(run.locator("#heat a.cell")).to_have_count(8)
        expect(run.locator("#made details").first).to_have_attribute("open", "")  # nothing that was open closes
        expect(run.locator("#episodes tbody tr")).to_have_count(lines_of("failure", lines))  # nor is a choice undone
        assert run.evaluate("() => document.activeElement.getAttribute('aria-label')") == focused


def lines_of(status: str, lines: list[str]) -> int:
    return sum(json.loads(line)["status"] == status for line in lines)


def test_a_page_says_when_the_viewer_has_gone_and_goes_on_when_it_is_back(
    browser: Browser, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder / "mover", tmp_path / "mover")
    port = f"--port={unlikely_port()}"
    with open_page(browser, refused=True) as page:
        with viewing(tmp_path, port) as address:
            page.goto(address)
            expect(page.locator("tbody tr")).to_have_count(1)
        expect(page.locator(".lost")).to_contain_text("is not responding")
        shutil.copytree(folder / "slowly", tmp_path / "slowly")
        with viewing(tmp_path, port):
            expect(page.locator("tbody tr")).to_have_count(2)
            expect(page.locator(".lost")).to_have_count(0)


def test_another_camera_may_be_chosen_while_it_plays(browser: Browser, address: str) -> None:
    with open_page(browser) as page:
        page.goto(f"{address}/episode?run=mover&task=toy/left&index=3")
        wait_for_videos(page)
        page.get_by_role("combobox", name="Speed").select_option("0.25")
        page.get_by_role("button", name="Play").click()
        page.get_by_role("combobox", name="Camera").select_option("side")
        wait_for_videos(page)
        expect(page.get_by_role("button", name="Play")).to_be_visible()  # it came to its end all the same


def test_the_list_remembers_what_was_chosen(browser: Browser, address: str) -> None:
    with open_page(browser) as page:
        page.goto(address)
        page.get_by_label("Select mover", exact=True).check()
        page.get_by_role("searchbox").fill("mover")
        page.get_by_role("link", name="mover", exact=True).click()
        expect(page.locator(".rate")).to_be_visible(timeout=30_000)  # a new viewer imports what it computes with
        page.go_back()
        expect(page.get_by_role("searchbox")).to_have_value("mover")
        expect(page.get_by_label("Select mover", exact=True)).to_be_checked()


def test_an_address_that_leads_nowhere_says_so(browser: Browser, address: str) -> None:
    with open_page(browser, refused=True) as page:
        page.goto(f"{address}/nonsense")
        expect(page.locator("h1")).to_have_text("Page not found")
        page.goto(f"{address}/episode")
        expect(page.get_by_role("alert")).to_have_text("The address names no run.")


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (360, "dark")])
@pytest.mark.parametrize(
    "place",
    ["/", "/run?run=duel", "/episode?run=mover&task=toy/left&index=0", "/compare?run=mover&run=slowly"],
    ids=["list", "run", "episode", "compare"],
)
def test_pages_fit_in_any_width_and_light(browser: Browser, address: str, place: str, width: int, scheme: str) -> None:
    with open_page(browser, width, scheme) as page:
        page.goto(f"{address}{place}")
        expect(page.locator("table, .timeline").first).to_be_visible()
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
