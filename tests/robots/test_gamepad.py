"""A gamepad as a teleoperator: SDL's own virtual one, so that sticks, buttons and plugs are real to pygame."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.robots.virtual_gamepad import VirtualGamepad
from yardarm.errors import RobotFault, SetupError, UsageError
from yardarm.robots import make_teleoperator

pytest.importorskip("pygame")

STILL = {"delta_x": 0.0, "delta_y": 0.0, "delta_z": 0.0, "gripper": 1.0}
LEFT_X, LEFT_Y, RIGHT_Y, TRIGGER = 0, 1, 3, 4


@pytest.fixture
def pad() -> Iterator[VirtualGamepad]:
    pad = VirtualGamepad()
    pad.plug()
    yield pad
    pad.close()


@pytest.fixture
def gamepad(pad: VirtualGamepad) -> Iterator[Any]:
    with make_teleoperator("gamepad") as gamepad:
        assert gamepad.get_action() == STILL
        yield gamepad


@pytest.mark.parametrize(
    ("axis", "tilt", "name", "value"),
    [
        (LEFT_Y, -1, "delta_x", 1),
        (LEFT_Y, 0.5, "delta_x", -0.5),
        (LEFT_X, -1, "delta_y", 1),
        (LEFT_X, 1, "delta_y", -1),
        (RIGHT_Y, -1, "delta_z", 1),
        (RIGHT_Y, 0.09, "delta_z", 0),
    ],
)
def test_sticks_move_the_hand(
    axis: int, tilt: float, name: str, value: float, pad: VirtualGamepad, gamepad: Any
) -> None:
    pad.tilt(axis, tilt)
    assert gamepad.get_action() == pytest.approx({**STILL, name: value}, abs=1e-4)


@pytest.mark.parametrize(("buttons", "gripper"), [([7], 2), ([6], 0), ([6, 7], 1), ([2], 1)])
def test_buttons_move_the_gripper(buttons: list[int], gripper: float, pad: VirtualGamepad, gamepad: Any) -> None:
    for button in buttons:
        pad.press(button)
    assert gamepad.get_action() == {**STILL, "gripper": gripper}
    for button in buttons:
        pad.press(button, is_down=False)
    assert gamepad.get_action() == STILL


@pytest.mark.parametrize(
    ("button", "events"),
    [(3, {"success"}), (1, {"terminate_episode"}), (0, {"terminate_episode", "rerecord_episode"})],
)
def test_buttons_tell_how_an_episode_ended(button: int, events: set[str], pad: VirtualGamepad, gamepad: Any) -> None:
    pad.press(button)
    gamepad.get_action()  # what was pressed is not lost when an action is asked for first
    pad.press(button, is_down=False)
    assert {name for name, is_so in gamepad.get_teleop_events().items() if is_so} == events
    assert not any(gamepad.get_teleop_events().values())


def test_a_button_that_is_held_intervenes(pad: VirtualGamepad, gamepad: Any) -> None:
    pad.press(5)
    assert [gamepad.get_teleop_events()["is_intervention"] for _ in range(2)] == [True, True]
    pad.press(5, is_down=False)
    assert not gamepad.get_teleop_events()["is_intervention"]


def test_a_trigger_that_is_taken_for_a_stick_does_not_drive_the_hand(pad: VirtualGamepad) -> None:
    with make_teleoperator("gamepad", z_axis=TRIGGER) as gamepad:
        gamepad.get_action()
        pad.tilt(TRIGGER, -1)  # where a trigger rests
        assert gamepad.get_action() == STILL
        pad.tilt(TRIGGER, 0)
        gamepad.get_action()
        pad.tilt(TRIGGER, 1)
        assert gamepad.get_action()["delta_z"] == pytest.approx(-1, abs=1e-4)


def test_without_its_gamepad_it_asks_for_no_move_until_it_is_back(
    pad: VirtualGamepad, gamepad: Any, caplog: pytest.LogCaptureFixture
) -> None:
    pad.tilt(LEFT_Y, -1)
    assert gamepad.get_action()["delta_x"] == pytest.approx(1, abs=1e-4)
    with caplog.at_level(logging.WARNING):
        pad.unplug()
        assert gamepad.get_action() == STILL
        assert "the gamepad is gone" in caplog.text
        pad.plug()
        gamepad.get_action()
        assert "the gamepad is back" in caplog.text
    pad.tilt(LEFT_Y, 0)
    gamepad.get_action()
    pad.tilt(LEFT_Y, 1)
    assert gamepad.get_action()["delta_x"] == pytest.approx(-1, abs=1e-4)


def test_other_controllers_have_other_numbers(pad: VirtualGamepad) -> None:
    with make_teleoperator("gamepad", buttons={"open": 9}) as gamepad:
        pad.press(9)
        assert gamepad.get_action()["gripper"] == 2
        assert "buttons 9 and 6: open, close" in gamepad.legend


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"z_axis": 9}, "z_axis: Virtual Controller has no axis 9; it has 6, from 0"),
        ({"buttons": {"open": 40}}, "Virtual Controller has no button 40 for open"),
        ({"index": 3}, "there is no gamepad 3: 1 found"),
    ],
)
def test_what_a_controller_does_not_have_is_named(options: dict[str, Any], message: str, pad: VirtualGamepad) -> None:
    gamepad = make_teleoperator("gamepad", **options)
    with pytest.raises((UsageError, RobotFault)) as error:
        gamepad.connect()
    assert message in str(error.value)
    assert not gamepad.is_connected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"buttons": {"opne": 4}}, "buttons has no 'opne'; did you mean 'open'?"),
        ({"deadzone": 1.5}, "deadzone must be at least 0 and below 1"),
        ({"x_axis": -1}, "x_axis must not be negative"),
    ],
)
def test_a_mistake_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        make_teleoperator("gamepad", **options)
    assert message in str(error.value)


def test_without_pygame_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(SetupError, match=r"pip install 'yardarm\[gamepad\]'"):
        make_teleoperator("gamepad").connect()


def test_sdl_leaves_sigterm_alone() -> None:
    """By itself, it would turn it into an event that nobody reads."""
    program = (
        "import os, signal\nfrom yardarm.robots import make_teleoperator\n"
        "try:\n    make_teleoperator('gamepad').connect()\nexcept Exception as error:\n    print(error)\n"
        "import pygame\npygame.display.init()\nos.kill(os.getpid(), signal.SIGTERM)\nprint('alive')"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == -15
    assert "alive" not in run.stdout
