"""The page of a twin, in a real browser: it shows the arm, and its sliders move it."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import CONTRASTS, needs_browser, open_browser, open_page
from tests.helpers import start_yardarm
from tests.viewer.served import ask, send
from yardarm.robots import make_teleoperator

pytestmark = [needs_browser, pytest.mark.slow]


class Served:
    """A leader's twin with its page."""

    def __init__(self, folder: Path) -> None:
        words = ("--teleop.type=koch_leader", "--teleop.id=red", f"--teleop.calibration_dir={folder}")
        self.folder = folder
        self.process = start_yardarm("twin", *words, "--twin.calibrated=true", "--view", "--twin.open=false")
        said = ""
        assert self.process.stdout is not None
        while " at http" not in said:
            line = self.process.stdout.readline()
            assert line, self.process.communicate()
            said += line
        self.port = re.findall(r"\.port=(\S+)", said)[0]
        self.address = re.findall(r" at (http\S+)", said)[0]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    own = Served(tmp_path_factory.mktemp("calibrations"))
    yield own
    own.process.send_signal(signal.SIGINT)
    out, err = own.process.communicate(timeout=60)
    assert "answered" in out, err
    assert own.process.returncode == 0


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as own:
        yield own


@pytest.mark.parametrize(("width", "scheme"), [(375, "dark"), (1200, "light")])
def test_the_page_fits_and_can_be_read(served: Served, browser: Browser, width: int, scheme: str) -> None:
    with open_page(browser, width, scheme) as page:
        page.goto(served.address)
        expect(page.locator("h1")).to_have_text("Twin of koch_leader")
        expect(page.locator(".twin-picture img")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert not [text for text in page.evaluate(CONTRASTS) if text["ratio"] < 4.5]


def test_a_slider_moves_a_joint_and_the_wire_shows_it(served: Served, browser: Browser) -> None:
    leader = make_teleoperator("koch_leader", port=served.port, id="red", calibration_dir=served.folder)
    with leader, open_page(browser) as page:
        page.goto(served.address)
        row = page.locator("[data-joint=wrist_flex]")
        row.locator("input").fill("40")
        expect(row.locator("output")).to_have_text(re.compile(r"^(39|40|41)\.\d %$"))
        assert leader.get_action()["wrist_flex.pos"] == pytest.approx(40.0, abs=2.0)
        row.locator("button", has_text="let go").click()
        expect(row.locator("button", has_text="let go")).to_be_hidden()
        expect(page.locator("[data-joint=gripper] .twin-torque")).to_have_text("torque on")


def test_turning_the_picture_draws_another_one(served: Served, browser: Browser) -> None:
    with open_page(browser) as page:
        page.goto(served.address)
        picture = page.locator(".twin-picture")
        expect(picture.locator("img")).to_be_visible()
        box = picture.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 100, box["y"] + 100)
        page.mouse.down()
        page.mouse.move(box["x"] + 180, box["y"] + 100)
        page.mouse.up()
        expect(picture.locator("img")).to_have_attribute("src", re.compile("azimuth=100&"))


def test_what_the_page_cannot_do_is_refused(served: Served) -> None:
    assert ask(served.address, "/api/twin")[0] == 200
    view = {"elevation": 0, "distance": 1, "width": 160}
    assert ask(served.address, "/api/twin/picture", azimuth="north", **view)[0] == 404
    assert send(served.address, "/api/twin/hold", elbow=1.0)[0] == 400
    assert send(served.address, "/api/twin/hold", elbow_flex="up")[0] == 400
    assert send(served.address, "/api/twin/release", joints=3)[0] == 400
