"""The list of runs as a workspace, in a real browser: groups, filters in the address, labels, the trash."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import CONTRASTS, needs_browser, open_browser, open_page
from tests.pages.trainings import usual_points, with_evaluation, write_training
from tests.report.runs import tasks_of, written
from tests.viewer.served import ask, viewing
from tests.workspace.test_workspace import write_several
from yardarm.results import Labels, read_labels, write_labels
from yardarm.workspace import Filters, Workspace

pytestmark = needs_browser
LONG = "eval/2026-11-13/09-17-43_metaworld_a_policy_with_a_rather_long_name"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Runs in two project folders, an evaluation of several policies, a training, a run of a recording."""
    written(tmp_path / "eval/2026-11-12/first", tasks_of({"reach-v3": "ssf"}))
    written(tmp_path / LONG, tasks_of({"reach-v3": "sff", "push-v3": "fff", "pull-v3": "fff"}))
    written(tmp_path / "eval/2026-11-13/played", tasks_of({"reach-v3": "s"}), command=["yardarm", "record"])
    written(tmp_path / "study/stopped", tasks_of({"reach-v3": "s"}), n_episodes=9, status="interrupted")
    write_several(tmp_path / "study/chunks", {"chunk_8": "sssf", "chunk_16": "ssff"})
    act = tmp_path / "train/act"
    write_training(act, [*usual_points(1000), *with_evaluation(act, 500, {"reach-v3": "sf"})], steps=1000, step=1000)
    write_labels(
        tmp_path / LONG,
        Labels(
            "ACT, <b>50k</b>",
            ("paper", "baseline"),
            "Looks good, but what a long first line this note has.\nCheck <i>again</i>.",
        ),
    )
    return tmp_path


@pytest.fixture
def address(root: Path) -> Iterator[str]:
    with viewing(root) as address:
        yield address


def rows(page: Page) -> list[str]:
    """The first line of each row: headings, names."""
    texts = page.locator("tbody th").all_inner_texts()
    return [re.sub(r"[▾▸]\s*", "", text).split("\n")[0] for text in texts]


def expect_rows(page: Page, *names: str) -> None:
    expect(page.locator("tbody tr")).to_have_count(len(names))
    assert rows(page) == list(names)


def test_runs_are_grouped_by_folder_and_what_belongs_together_folds(browser: Browser, address: str) -> None:
    with open_page(browser) as page:
        page.goto(f"{address}/?sort=name")
        everything = ["eval/ 3", "first", "ACT, <b>50k</b>", "Played for recordings 1"]
        everything += ["study/ 2", "chunks", "stopped", "train/ 1", "act"]
        expect_rows(page, *everything)
        page.get_by_role("button", name="Unfold study/chunks").click()
        page.get_by_role("button", name="Unfold train/act").click()
        page.get_by_role("button", name="Unfold Played for recordings").press("Enter")
        page.get_by_role("button", name="Fold eval/").click()
        expect_rows(
            page, "eval/ 3", "study/ 2", "chunks", "chunk_8", "chunk_16", "stopped", "train/ 1", "act", "step_000500"
        )
        shared = page.url
        page.go_back()
        expect(page.get_by_role("button", name="Fold Played for recordings")).to_be_visible()
        page.go_forward()
        page.get_by_role("link", name="train/act", exact=True).click()
        page.get_by_role("link", name="All runs").click()
        expect(page.locator("tbody tr")).to_have_count(9)  # as it was left
    with open_page(browser) as other:
        other.goto(shared)
        expect(other.locator("tbody tr")).to_have_count(9)


def test_filters_and_groups_are_in_the_address(browser: Browser, address: str) -> None:
    with open_page(browser) as page:
        page.goto(address)
        page.get_by_role("combobox", name="Group by").select_option("benchmark")
        page.get_by_role("combobox", name="Status").select_option("finished")
        page.get_by_role("button", name="Only tag paper").click()
        expect(page.locator("tbody tr")).to_have_count(2)
        assert page.url.endswith("?status=finished&tag=paper&group=benchmark")
        page.go_back()
        expect(page.get_by_role("combobox", name="Tag")).to_have_value("")
        page.get_by_role("searchbox").fill("50K note")
        expect(page.get_by_text("1 of 9 runs")).to_be_visible()
        page.get_by_role("button", name="Clear filters").click()
        expect(page.get_by_text("9 runs", exact=True)).to_be_visible()
        assert page.url == f"{address}/"


CHOICES = (
    Filters(),
    Filters(search="reach FINISHED"),
    Filters(search="chunk_8"),
    Filters(status="interrupted"),
    Filters(tag="paper"),
    Filters(policy="chunk"),
    Filters(benchmark="metaworld", hidden=True),
)


def test_the_page_and_the_terminal_choose_the_same(browser: Browser, root: Path) -> None:
    write_labels(root / "study/chunks/policies/chunk_16", Labels(hidden=True))
    with viewing(root) as address, open_page(browser) as page:
        for filters in CHOICES:
            chosen = sorted(line["name"] for line in filters.chosen(Workspace(root).by_name().values()))
            values = {name: getattr(filters, name) for name in ("search", "status", "benchmark", "policy", "tag")}
            words = [*(f"{name}={value}" for name, value in values.items()), "hidden=true" if filters.hidden else ""]
            page.goto(f"{address}/?group=none&sort=name&{'&'.join(words)}")
            expect(page.locator("tbody tr")).to_have_count(len(chosen))
            labels = page.locator("tbody input").evaluate_all("(all) => all.map((box) => box.ariaLabel)")
            assert sorted(label.removeprefix("Select ") for label in labels) == chosen, filters


def test_a_run_is_named_tagged_and_described_on_its_own_page(browser: Browser, root: Path, address: str) -> None:
    with open_page(browser) as page:
        page.goto(f"{address}/run?run=eval/2026-11-12/first")
        page.get_by_role("button", name="Add name, tags, note").click()
        page.get_by_label("Name").fill("Second try")
        page.get_by_label("Tags").fill("paper, camera 2")
        page.get_by_label("Note").fill("Look at seed 3.\n<script>alert(1)</script>")
        page.get_by_role("button", name="Save").click()
        expect(page.locator("h1")).to_have_text("Second try finished")
        expect(page.locator(".run-note")).to_have_text("Look at seed 3.\n<script>alert(1)</script>")
        note = "Look at seed 3.\n<script>alert(1)</script>"
        assert read_labels(root / "eval/2026-11-12/first") == Labels("Second try", ("paper", "camera 2"), note)


def test_a_name_that_is_refused_says_why_and_loses_nothing(browser: Browser, address: str) -> None:
    with open_page(browser, refused=True) as page:
        page.goto(f"{address}/training?training=train/act")
        page.get_by_role("button", name="Add name, tags, note").click()
        page.get_by_label("Tags").fill("a" * 50)
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("alert")).to_contain_text("a tag has 1 to 40 characters")
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_role("button", name="Hide")).to_be_visible()


def test_several_are_tagged_and_hidden_at_once(browser: Browser, root: Path, address: str) -> None:
    with open_page(browser) as page:
        page.goto(address)
        for name in ("study/chunks", LONG):
            page.get_by_label(f"Select {name}", exact=True).check()
        expect(page.get_by_role("button", name="Compare 3 runs")).to_be_enabled()  # the two of the list, and one
        page.get_by_role("button", name="Tags …").click()
        page.get_by_label("Add, separated by commas").fill("rliable")
        page.get_by_role("checkbox", name="baseline").check()
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("button", name="Only tag rliable")).to_have_count(2)
        assert (read_labels(root / LONG).tags, read_labels(root / "study/chunks").tags) == (
            ("paper", "rliable"),
            ("rliable",),
        )
        page.get_by_role("button", name="Hide").click()
        expect(page.get_by_text("5 of 9 runs")).to_be_visible()  # with what lies inside
        page.get_by_label("Hidden (4)").check()
        expect(page.get_by_text("9 runs", exact=True)).to_be_visible()


def test_what_is_deleted_is_in_the_trash_and_comes_back(browser: Browser, root: Path, address: str) -> None:
    with open_page(browser) as page:
        page.goto(address)
        for name in ("train/act", "study/stopped"):
            page.get_by_label(f"Select {name}", exact=True).check()
        page.get_by_role("button", name="Delete …").click()
        expect(page.get_by_role("dialog")).to_contain_text("2 runs, ")
        page.get_by_role("button", name="Move to the trash").click()
        expect(page.get_by_text("2 in the trash.")).to_be_visible()
        expect(page.get_by_label("Select train/act", exact=True)).to_have_count(0)
        assert not (root / "train/act").exists()
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_label("Select train/act", exact=True)).to_be_visible()
        assert (root / "study/stopped/manifest.json").exists()

        page.goto(f"{address}/run?run=study/stopped")
        page.get_by_role("button", name="Delete …").click()
        page.get_by_role("button", name="Move to the trash").click()
        expect(page.locator("h1")).to_have_text("Trash")
        expect(page.locator("tbody th")).to_have_text(["study/stopped"])
        page.get_by_role("button", name="Put back study/stopped").click()
        expect(page.get_by_text("The trash is empty.")).to_be_visible()
        assert (root / "study/stopped").is_dir()


def test_emptying_the_trash_asks_first(browser: Browser, root: Path, address: str) -> None:
    Workspace(root).delete(["study/stopped", "study/chunks"])
    with open_page(browser) as page:
        page.goto(f"{address}/trash")
        page.get_by_role("button", name="Empty the trash").click()
        expect(page.get_by_text("Delete 2 folders for good?")).to_be_visible()
        assert (root / ".trash").is_dir()
        page.get_by_role("button", name="Delete for good").click()
        expect(page.get_by_text("Freed ")).to_be_visible()
        assert not (root / ".trash").exists()


def test_a_viewer_that_changes_nothing_offers_no_changes(browser: Browser, root: Path) -> None:
    with viewing(root, "--edit=false") as address, open_page(browser) as page:
        page.goto(address)
        page.get_by_label("Select study/stopped", exact=True).check()
        expect(page.get_by_role("button", name="Clear")).to_be_visible()
        expect(page.get_by_role("button", name="Delete …")).to_have_count(0)
        page.goto(f"{address}/run?run=study/stopped")
        expect(page.locator(".rate")).to_be_visible()
        expect(page.get_by_role("button", name="Hide")).to_have_count(0)
        assert ask(address, "/api/deletion", name=["study/chunks/policies/chunk_8"])[0] == 404


@pytest.mark.parametrize(("width", "scheme"), [(375, "dark"), (800, "light"), (1200, "dark")])
def test_the_list_fits_in_any_width_and_light(browser: Browser, address: str, width: int, scheme: str) -> None:
    with open_page(browser, width, scheme) as page:
        page.goto(f"{address}/?folded=study/chunks&folded=train/act")
        expect(page.locator("tbody tr")).to_have_count(12)
        # Nothing is cut: neither the page nor the table has more than is seen.
        boxes = page.locator("html, .scroll")
        assert boxes.evaluate_all("(all) => all.map((own) => own.scrollWidth - own.clientWidth)") == [0, 0]
        assert not [text for text in page.evaluate(CONTRASTS) if text["ratio"] < 4.5]
        page.get_by_label("Select study/stopped", exact=True).check()
        page.get_by_role("button", name="Edit …").click()
        box = page.get_by_role("dialog").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
