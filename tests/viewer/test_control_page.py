"""The page of a loop that moves an arm, in a real browser: cameras, joints, the arm, the loop, and buttons."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from tests.browser import CONTRASTS, needs_browser, open_browser, open_page
from tests.helpers import wait_until
from tests.viewer.control_scene import ControlScene, control_scene
from tests.viewer.served import ask, send
from yardarm.control import LiveState, Loop
from yardarm.errors import UsageError
from yardarm.robots import make_robot
from yardarm.viewer import Listening, served_control
from yardarm.viewer.control_app import as_jpeg

pytestmark = [pytest.mark.slow]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlScene]:
    with control_scene(tmp_path_factory.mktemp("calibrations")) as own:
        yield own


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as own:
        yield own


@needs_browser
@pytest.mark.parametrize(("width", "scheme"), [(375, "dark"), (1200, "light")])
def test_the_page_fits_and_can_be_read(scene: ControlScene, browser: Browser, width: int, scheme: str) -> None:
    with open_page(browser, width, scheme) as page:
        page.goto(scene.address)
        expect(page.locator("h1")).to_have_text("Teleoperation")
        expect(page.locator(".twin-picture img")).to_be_visible()
        expect(page.locator(".control-camera img[src]")).to_have_count(2)
        expect(page.locator("[data-joint]")).to_have_count(6)
        expect(page.locator("[data-joint=gripper] td").nth(2)).to_have_text(re.compile(r"^−?[\d.]+ %$"))
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert not [text for text in page.evaluate(CONTRASTS) if text["ratio"] < 4.5]


@needs_browser
def test_the_page_moves_with_the_arm(scene: ControlScene, browser: Browser) -> None:
    with open_page(browser) as page:
        page.goto(scene.address)
        value = page.locator("[data-joint=shoulder_pan] td").nth(2)
        first = value.text_content()
        expect(value).not_to_have_text(first or "")
        picture = page.locator("[data-camera=front] img")
        source = picture.get_attribute("src")
        expect(picture).not_to_have_attribute("src", source or "")
        expect(page.locator(".control-facts")).to_contain_text("of 30 Hz")
        assert page.locator(".control-fine").get_attribute("d")


@needs_browser
def test_buttons_and_their_keys_are_pressed(scene: ControlScene, browser: Browser) -> None:
    scene.pressed.clear()
    with open_page(browser) as page:
        page.goto(scene.address)
        page.locator("[data-button=end]").click()
        wait_until(lambda: scene.pressed == ["end"])
        page.keyboard.press("Escape")
        wait_until(lambda: scene.pressed == ["end", "stop"])


@needs_browser
def test_why_a_button_does_nothing_stays_on_the_page(scene: ControlScene, browser: Browser) -> None:
    with open_page(browser, refused=True) as page:
        page.goto(scene.address)
        page.keyboard.press("ArrowLeft")
        page.locator("[data-button=repeat]").click()
        expect(page.locator(".warning")).to_have_text("there is nothing to record again")
        before = scene.state.loop.timing.done
        wait_until(lambda: scene.state.loop.timing.done > before + 30)  # the page looks again several times
        expect(page.locator(".warning")).to_have_text("there is nothing to record again")
        page.locator("[data-button=end]").click()
        expect(page.locator(".warning")).to_be_hidden()


@needs_browser
def test_a_camera_that_freezes_is_seen(scene: ControlScene, browser: Browser) -> None:
    with open_page(browser) as page:
        page.goto(scene.address)
        expect(page.locator("[data-camera=front]")).to_be_visible()
        scene.frozen.set()
        try:
            expect(page.locator("[data-camera=front].old")).to_be_visible()
            expect(page.locator(".warning")).to_contain_text("Holding still: camera 'front' has shown nothing new")
        finally:
            scene.frozen.clear()
        expect(page.locator(".warning")).to_be_hidden()


def test_what_is_not_there_is_refused(scene: ControlScene) -> None:
    wait_until(lambda: scene.state.tick is not None)
    status, state = ask(scene.address, "/api/control")
    assert status == 200
    assert state["arms"] == ["arm"]
    assert ask(scene.address, "/api/control/camera", name="back")[0] == 404
    assert ask(scene.address, "/api/control/picture", arm="left")[0] == 404
    assert send(scene.address, "/api/control/press", button="launch")[0] == 400


def test_a_port_that_is_taken_is_said_at_once() -> None:
    robot = make_robot("so101_follower", port="none", watchdog=False)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listening = Listening(port=taken.getsockname()[1], flags="--view_port")
        opened = served_control(LiveState(robot, Loop(30)), listening)
        with pytest.raises(UsageError, match="choose another with --view_port"):
            opened.__enter__()


def test_other_machines_can_look_and_press_nothing() -> None:
    robot = make_robot("so101_follower", port="none", watchdog=False)
    state = LiveState(robot, Loop(30))
    with served_control(state, Listening(host="0.0.0.0")) as address:
        here = address.replace("0.0.0.0", "localhost")
        assert ask(here, "/api/control")[1]["buttons"] == []
        assert send(here, "/api/control/press", button="end")[0] == 403


@pytest.mark.parametrize("shape", [(4, 6, 3), (4, 1300, 3), (4, 6, 1)])
def test_pictures_of_all_kinds_become_jpegs(shape: tuple[int, ...]) -> None:
    kind = np.uint16 if shape[-1] == 1 else np.uint8
    assert as_jpeg(np.ones(shape, kind)).startswith(b"\xff\xd8")
    assert as_jpeg(np.zeros(shape, kind)).startswith(b"\xff\xd8")
