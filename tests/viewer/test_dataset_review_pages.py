"""Looking through a dataset in a real browser: findings first, flags, planned edits, and applying them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import CONTRASTS, needs_browser, open_browser, open_page
from tests.datasets.demonstrations import demonstration, jumping, record, still_at_the_end
from tests.viewer.served import viewing_datasets
from yardarm.datasets import read_metadata

pytestmark = needs_browser
COUNT = 8


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    first = demonstration(0, with_pictures=True)
    faults = {3: still_at_the_end, 5: jumping, 6: lambda own: first}
    return record(tmp_path_factory.mktemp("recorded") / "arm", COUNT, faults, with_pictures=True)


@pytest.fixture(scope="module")
def looked_at(recorded: Path) -> Iterator[str]:
    """A viewer for tests that apply no edits."""
    with viewing_datasets(recorded.parent) as address:
        yield address


@pytest.fixture
def folder(recorded: Path, tmp_path: Path) -> Path:
    """A copy that may be edited."""
    shutil.copytree(recorded, tmp_path / "arm")
    return tmp_path


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    with viewing_datasets(folder) as address:
        yield address


def open_dataset(page: Page, address: str) -> None:
    page.goto(f"{address}/dataset?dataset=arm")
    done = "3 warnings in 8 episodes, with a few pictures of each."
    expect(page.locator("#findings")).to_contain_text(done, timeout=30_000)


def test_a_finding_leads_to_its_frame(browser: Browser, looked_at: str) -> None:
    with open_page(browser) as page:
        open_dataset(page, looked_at)
        expect(page.locator("#findings h3")).to_have_text([re.compile(own) for own in ("Duplicates", "Idle", "Jumps")])
        expect(page.locator("main > section").nth(1)).to_have_id("findings")
        page.locator(".finding-group", has_text="Jumps").get_by_role("link", name="Episode 5").click()
        expect(page.locator("h1")).to_have_text("Episode 5")
        expect(page.locator("output")).to_have_text(re.compile("frame 5[01] of"))
        expect(page.get_by_role("list", name="Findings")).to_contain_text("shoulder_pan.pos jumps from")
        expect(page.locator("rect.stretch.found")).to_have_count(2)
        page.keyboard.press("n")
        expect(page.locator("h1")).to_have_text("Episode 6")
        expect(page.get_by_role("link", name="Previous")).to_be_visible()
        page.keyboard.press("p")
        expect(page.locator("h1")).to_have_text("Episode 5")


def test_findings_are_mended_and_written_to_a_new_dataset(browser: Browser, address: str, folder: Path) -> None:
    with open_page(browser) as page:
        open_dataset(page, address)
        expect(page.locator("#edits")).to_be_hidden()
        page.get_by_role("button", name=re.compile("^Trim, episode 3")).click()
        page.get_by_role("button", name=re.compile("^Delete, episode 6")).click()
        edits = page.locator("#edits")
        expect(edits).to_contain_text("1 deletion, 1 trim. Nothing is changed until you write the result.")
        edits.get_by_text("The same as commands").click()
        expect(edits.locator(".command").first).to_contain_text("yardarm dataset trim")
        page.reload()
        expect(edits).to_contain_text("Episode 3: keep frames 0 to")
        edits.get_by_role("textbox").fill("clean")
        edits.get_by_role("button", name="Write it").click()
        page.get_by_role("link", name=str(folder / "clean")).click()
        expect(page.locator("h1")).to_have_text("clean")
        expect(page.locator("#findings")).to_contain_text("1 warning in 7 episodes", timeout=30_000)
    assert read_metadata(folder / "arm").total_episodes == COUNT
    assert read_metadata(folder / "clean").total_episodes == COUNT - 1


def test_an_episode_is_flagged_trimmed_and_relabelled_on_its_page(browser: Browser, address: str) -> None:
    with open_page(browser) as page:
        page.goto(f"{address}/dataset/episode?dataset=arm&index=1")
        page.get_by_role("textbox", name="Reason for the flag").fill("shaky")
        page.get_by_role("button", name="⚑ Flag").click()
        page.get_by_role("slider", name="Frame").fill("20")
        page.get_by_role("button", name="Cut before 20").click()
        page.locator("h1").click()
        page.get_by_role("slider", name="Frame").fill("60")
        page.keyboard.press("o")
        expect(page.locator(".planned")).to_contain_text("Planned: keep frames 20 to 60 of")
        expect(page.locator("rect.stretch.cut")).to_have_count(4)
        page.get_by_role("textbox", name="Instruction").fill("reach the ball")
        page.get_by_role("button", name="Set").click()
        expect(page.locator(".planned")).to_contain_text("instruction “reach the ball”")
        page.get_by_role("link", name="All planned edits (1)").click()
        row = page.locator("#episodes tbody tr").nth(1)
        expect(row).to_contain_text("⚑ shaky")
        expect(row).to_contain_text("Planned: keep frames 20 to 60")
        page.get_by_role("combobox", name="Noted").select_option("flagged")
        assert page.locator("#episodes tbody a").all_inner_texts() == ["1"]
        page.reload()
        expect(page.get_by_role("combobox", name="Noted")).to_have_value("flagged")
        page.get_by_role("button", name="Delete the 1 flagged").click()
        expect(page.locator("#edits")).to_contain_text("1 deletion.")
        page.get_by_role("button", name="Undo the edits of episode 1").click()
        expect(page.locator("#edits")).to_be_hidden()


def test_selected_episodes_get_an_instruction_together(browser: Browser, address: str, folder: Path) -> None:
    with open_page(browser) as page:
        open_dataset(page, address)
        for episode in (0, 2):
            page.get_by_role("checkbox", name=f"Select episode {episode}").check()
        page.get_by_role("textbox", name="Reason or instruction").fill("push the cube")
        page.get_by_role("button", name="Set instruction").click()
        expect(page.locator("#edits")).to_contain_text("2 new instructions")
        edits = page.locator("#edits")
        edits.get_by_text("Replace this dataset instead").click()
        expect(edits.get_by_role("button", name="Replace this dataset")).to_be_disabled()
        edits.get_by_role("checkbox").check()
        with page.expect_navigation():
            edits.get_by_role("button", name="Replace this dataset").click()
        expect(page.locator("#tasks tbody tr")).to_have_count(2)
    tasks = [episode.tasks for episode in read_metadata(folder / "arm").episodes[:3]]
    assert tasks == [("push the cube",), ("reach the cube",), ("push the cube",)]


def test_states_and_actions_of_one_name_are_drawn_over_each_other(browser: Browser, looked_at: str) -> None:
    with open_page(browser) as page:
        page.goto(f"{looked_at}/dataset/episode?dataset=arm&index=1")
        page.get_by_role("button", name="State and action over each other").click()
        assert page.locator(".timeline figcaption > span:first-child").all_inner_texts() == [
            *("shoulder_pan.pos", "shoulder_lift.pos", "gripper.pos")
        ]
        expect(page.locator(".timeline").first.locator(".line")).to_have_count(2)
        page.locator(".timeline").first.get_by_role("button", name=re.compile("^action")).click()
        expect(page.locator(".timeline").first.locator(".line")).to_have_count(1)
        assert "over=1" in page.url


def test_nothing_can_be_edited_where_the_viewer_forbids_it(browser: Browser, folder: Path) -> None:
    with viewing_datasets(folder, "--edit=false") as address, open_page(browser) as page:
        open_dataset(page, address)
        expect(page.get_by_role("checkbox")).to_have_count(0)
        expect(page.get_by_role("button", name=re.compile("^(Trim|Delete)"))).to_have_count(0)
        page.goto(f"{address}/dataset/episode?dataset=arm&index=1")
        expect(page.locator(".timeline").first).to_be_visible()
        expect(page.get_by_role("button", name=re.compile("Flag|Cut|Delete"))).to_have_count(0)


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (800, "dark"), (375, "dark")])
def test_pages_with_edits_fit_and_can_be_read(browser: Browser, looked_at: str, width: int, scheme: str) -> None:
    with open_page(browser, width, scheme) as page:
        open_dataset(page, looked_at)
        page.get_by_role("button", name=re.compile("^(Undo: )?Delete, episode 6")).click()
        page.get_by_role("button", name=re.compile("^Select the")).click()
        for place in ("", "/episode"):
            if place:
                page.goto(f"{looked_at}/dataset/episode?dataset=arm&index=3")
                expect(page.get_by_role("list", name="Findings")).to_be_visible()
            assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
            for contrast in page.evaluate(CONTRASTS):
                assert contrast["ratio"] >= 4.5, contrast
