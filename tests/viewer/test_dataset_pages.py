"""Datasets in a real browser: found, filtered, watched within their parts of video files, damaged ones told of."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import CONTRASTS, needs_browser, open_browser, open_page, wait_for_videos
from tests.datasets.made import GOLDEN
from tests.pages.shown_dataset import shown_dataset
from tests.viewer.served import viewing_datasets

pytestmark = needs_browser
EPISODE = "/dataset/episode?dataset=shown&index=1"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("datasets")
    shown_dataset(folder / "shown")
    shutil.copytree(GOLDEN / "data", folder / "lerobots" / "own")
    for name in ("no_info", "no_frames", "strange"):
        shutil.copytree(folder / "shown", folder / name)
    (folder / "no_info/meta/info.json").write_text("{")
    (folder / "no_frames/data/chunk-000/file-000.parquet").write_bytes(b"PAR1 and no more")
    (folder / "no_frames/videos/observation.images.wrist/chunk-000/file-000.mp4").unlink()
    old_codec(folder / "strange/videos/observation.images.front/chunk-000/file-000.mp4")
    (folder / "strange/videos/observation.images.wrist/chunk-000/file-000.mp4").write_bytes(b"\0\0\0\x20ftyp nonsense")
    return folder


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    with viewing_datasets(folder) as address:
        yield address


def old_codec(path: Path) -> None:
    """A good video that no browser plays."""
    with av.open(str(path), "w") as output:
        stream: Any = output.add_stream("mpeg4", rate=20)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for _ in range(120):
            output.mux(stream.encode(av.VideoFrame.from_ndarray(np.zeros((48, 64, 3), np.uint8), format="rgb24")))
        output.mux(stream.encode())


def times(page: Page) -> list[float]:
    return page.locator("video").evaluate_all("(all) => all.map((video) => video.currentTime)")


def test_from_the_list_to_a_dataset_to_an_episode(browser: Browser, address: str) -> None:
    with open_page(browser) as page:
        page.goto(address)
        expect(page.locator("tbody tr")).to_have_count(5)
        page.get_by_role("searchbox").fill("toy_arm")
        expect(page.get_by_role("status")).to_have_text("3 of 5 datasets")
        page.get_by_role("link", name="shown").click()
        expect(page.locator("#headline")).to_contain_text("toy_arm")
        page.locator("#episodes tbody a").nth(1).click()
        expect(page.locator("h1")).to_have_text("Episode 1")
        expect(page.locator("main")).to_contain_text("push the block")
        wait_for_videos(page, 2)
        page.get_by_role("link", name="Next →").click()
        expect(page.locator("h1")).to_have_text("Episode 2")


def test_a_dataset_shows_its_facts_features_and_statistics(browser: Browser, address: str) -> None:
    with open_page(browser) as page:
        page.goto(f"{address}/dataset?dataset=shown")
        expect(page.locator("#headline")).to_contain_text("108")
        expect(page.locator("#tasks tbody tr")).to_have_count(3)
        expect(page.locator("#cameras tbody tr").first).to_contain_text("64 × 48")
        expect(page.locator("#features")).to_contain_text("pan, lift, gripper")
        state = page.locator(".statistics", has_text="observation.state").locator("tbody tr")
        expect(state).to_have_count(3)
        expect(state.first.locator("svg.range")).to_have_attribute("aria-label", re.compile("pan: Min 0, .*Max 35"))
        expect(page.locator("svg.histogram")).to_have_attribute("aria-label", re.compile("from 18 to 36 frames"))


def test_episodes_are_sorted_and_filtered(browser: Browser, address: str) -> None:
    with open_page(browser) as page:
        page.goto(f"{address}/dataset?dataset=shown")
        rows = page.locator("#episodes tbody tr")
        numbers = page.locator("#episodes tbody a")
        expect(rows).to_have_count(4)
        page.locator("#episodes").get_by_role("button", name="Frames").click()
        assert numbers.all_inner_texts() == ["2", "1", "0", "3"]
        page.get_by_role("combobox", name="Task").select_option("push the block")
        assert numbers.all_inner_texts() == ["1", "3"]
        page.get_by_role("combobox", name="Task").select_option("all")
        page.get_by_role("combobox", name="Outcome").select_option("failures")
        assert numbers.all_inner_texts() == ["2", "0"]
        page.get_by_role("searchbox").fill("0")
        assert numbers.all_inner_texts() == ["0"]


@pytest.mark.parametrize("place", [EPISODE, "/dataset/episode?dataset=lerobots/own&index=1"], ids=["h264", "av1"])
def test_a_video_is_played_within_its_part_of_the_file(browser: Browser, address: str, place: str) -> None:
    with open_page(browser) as page:
        with page.expect_response(re.compile("/api/dataset/episode")) as answer:
            page.goto(f"{address}{place}")
        camera = answer.value.json()["cameras"][0]
        assert camera["from"] > 0
        wait_for_videos(page, 2 if "shown" in place else 1)
        assert times(page)[0] == pytest.approx(camera["from"], abs=0.01)
        page.get_by_role("combobox", name="Speed").select_option("1")
        page.get_by_role("button", name="Play").click()
        expect(page.get_by_role("button", name="Pause")).to_be_visible()
        expect(page.get_by_role("button", name="Play")).to_be_visible()  # it has come to its end
        expect(page.locator("output")).to_have_text(re.compile(r"frame (\d+) of \1"))
        for time in times(page):
            assert camera["to"] - 0.11 < time < camera["to"]
        assert len(set(times(page))) == 1


def test_videos_pictures_plots_and_words_move_together(browser: Browser, address: str) -> None:
    with open_page(browser) as page:
        page.goto(f"{address}/dataset/episode?dataset=shown&index=2")
        wait_for_videos(page, 2)
        page.get_by_role("slider", name="Frame").fill("20")
        expect(page.locator("output")).to_have_text("frame 20 of 35")
        expect(page.locator(".camera img")).to_have_attribute("src", re.compile("frame=20$"))
        assert times(page) == [pytest.approx((24 + 30 + 20) / 20, abs=0.01)] * 2
        expect(page.locator(".timeline", has_text="observation.state")).to_contain_text("pan 20lift 20gripper -20")
        expect(page.locator(".facts")).to_contain_text("take the block")
        expect(page.locator(".facts")).to_contain_text("note 2")
        page.locator("h1").click()
        page.keyboard.press("Shift+ArrowLeft")
        expect(page.locator("output")).to_have_text("frame 10 of 35")
        expect(page.locator(".camera img")).to_have_attribute("src", re.compile("frame=10$"))
        page.locator(".timeline svg").first.click(position={"x": 1, "y": 20})
        expect(page.locator("output")).to_have_text("frame 0 of 35")
        page.keyboard.press(" ")
        expect(page.get_by_role("button", name="Pause")).to_be_visible()


def test_signals_are_shown_and_hidden_by_their_names_and_the_address_keeps_it(browser: Browser, address: str) -> None:
    with open_page(browser) as page:
        page.goto(f"{address}{EPISODE}")
        plot = page.locator(".timeline", has_text="observation.state")
        colours = "(all) => all.map((line) => getComputedStyle(line).stroke)"
        expect(plot.locator(".line")).to_have_count(3)
        before = plot.locator(".line").evaluate_all(colours)
        plot.get_by_role("button", name="lift", pressed=True).press("Enter")
        expect(plot.locator(".line")).to_have_count(2)
        expect(plot.get_by_role("button", name="lift", pressed=False)).to_be_focused()
        assert plot.locator(".line").evaluate_all(colours) == [before[0], before[2]], "colours stay"
        page.get_by_role("button", name="action: none").click()
        expect(page.locator(".timeline", has_text="action").locator(".line")).to_have_count(0)
        page.get_by_role("button", name="next.reward", pressed=True).click()
        expect(page.get_by_role("button", name="next.reward", pressed=False)).to_have_text("hidden ")
        page.reload()
        expect(plot.locator(".line")).to_have_count(2)
        page.get_by_role("link", name="Next →").click()
        expect(page.locator("h1")).to_have_text("Episode 2")
        expect(plot.locator(".line")).to_have_count(2)
        page.get_by_role("button", name="Show all signals").click()
        expect(plot.locator(".line")).to_have_count(3)
        assert "hidden" not in page.url


def test_pointing_at_a_name_sets_off_its_line(browser: Browser, address: str) -> None:
    with open_page(browser) as page:
        page.goto(f"{address}{EPISODE}")
        plot = page.locator(".timeline", has_text="observation.state")
        plot.get_by_role("button", name="lift").hover()
        faded = plot.locator(".line").evaluate_all("(all) => all.map((line) => getComputedStyle(line).opacity < 1)")
        assert faded == [True, False, True]
        page.mouse.move(0, 0)
        expect(plot.locator(".picked")).to_have_count(0)


def test_damaged_datasets_say_which_file_it_is(browser: Browser, address: str) -> None:
    with open_page(browser, refused=True) as page:
        page.goto(address)
        expect(page.locator("tbody tr", has_text="no_info")).to_contain_text("meta/info.json is damaged")
        page.goto(f"{address}/dataset?dataset=no_info")
        expect(page.get_by_role("alert")).to_contain_text("meta/info.json is damaged")
        page.goto(f"{address}/dataset?dataset=no_frames")
        expect(page.locator("#headline .warning")).to_have_count(2)
        expect(page.locator("#headline")).to_contain_text("data/chunk-000/file-000.parquet is damaged")
        expect(page.locator("#headline")).to_contain_text("observation.images.wrist/chunk-000/file-000.mp4 is missing")
        page.locator("#episodes tbody a").first.click()
        expect(page.get_by_role("alert")).to_contain_text("file-000.parquet is damaged")
        expect(page.locator(".camera").nth(1)).to_contain_text("file-000.mp4 is missing")
        expect(page.locator(".camera").nth(2)).to_contain_text("file-000.parquet is damaged")
        expect(page.locator("video:visible")).to_have_count(1)  # what is whole is shown
        page.goto(f"{address}/dataset/episode?dataset=shown&index=99")
        expect(page.get_by_role("alert")).to_contain_text("there is no episode 99")


def test_a_codec_that_the_browser_cannot_play_is_said(browser: Browser, address: str) -> None:
    with open_page(browser) as page:
        page.goto(f"{address}/dataset/episode?dataset=strange&index=1")
        expect(page.locator(".camera").first).to_contain_text("This browser cannot play mpeg4")
        expect(page.locator(".camera").nth(1)).to_contain_text("file-000.mp4 is damaged")
        expect(page.locator(".timeline")).to_have_count(5)
        page.get_by_role("slider", name="Frame").fill("7")
        expect(page.locator(".timeline", has_text="observation.state")).to_contain_text("pan 7")


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (360, "dark")])
@pytest.mark.parametrize("place", ["/", "/dataset?dataset=shown", EPISODE], ids=["list", "dataset", "episode"])
def test_pages_fit_and_can_be_read_in_any_width_and_light(
    browser: Browser, address: str, place: str, width: int, scheme: str
) -> None:
    with open_page(browser, width, scheme) as page:
        page.goto(f"{address}{place}")
        expect(page.locator("table, .timeline").first).to_be_visible()
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        for contrast in page.evaluate(CONTRASTS):
            assert contrast["ratio"] >= 4.5, contrast
