"""A keyboard as a teleoperator, on a real terminal."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers import wait_until, yardarm_here
from tests.robots.typed import typing
from yardarm.errors import AlreadyConnected, NotConnected, UsageError
from yardarm.robots import make_teleoperator

STILL = {"delta_x": 0.0, "delta_y": 0.0, "delta_z": 0.0, "gripper": 1.0}


def test_a_keyboard_gives_the_keys_that_are_held() -> None:
    with typing() as type, make_teleoperator("keyboard") as keyboard:
        assert keyboard.get_action() == {}
        type("wa")
        wait_until(lambda: keyboard.get_action() == {"a": None, "w": None})
        wait_until(lambda: keyboard.get_action() == {})


@pytest.mark.parametrize(
    ("keys", "changes"),
    [
        ("i", {"delta_x": 1}),
        ("k", {"delta_x": -1}),
        ("j", {"delta_y": 1}),
        ("l", {"delta_y": -1}),
        ("U", {"delta_z": 1}),
        ("d", {"delta_z": -1}),
        ("\x1b[A", {"delta_x": 1}),
        ("\x1b[D", {"delta_y": 1}),
        ("\x1b[1;2A", {"delta_z": 1}),
        ("\x1b[6~", {"delta_z": -1}),
        ("o", {"gripper": 2}),
        ("c", {"gripper": 0}),
        ("ijo", {"delta_x": 1, "delta_y": 1, "gripper": 2}),
        ("iuup", {"delta_x": 1, "delta_z": 1}),
        ("i\x1b[A", {"delta_x": 1}),
    ],
)
def test_keys_move_the_hand(keys: str, changes: dict[str, float]) -> None:
    with typing() as type, make_teleoperator("keyboard_ee") as keyboard:
        assert keyboard.get_action() == STILL
        type(keys)
        wait_until(lambda: keyboard.get_action() == {**STILL, **changes})
        wait_until(lambda: keyboard.get_action() == STILL)


def test_opposite_keys_cancel_each_other() -> None:
    with typing() as type, make_teleoperator("keyboard_ee") as keyboard:
        type("ikcou")
        wait_until(lambda: keyboard.get_action() == {**STILL, "delta_z": 1})


def test_arrows_can_be_lerobots() -> None:
    with typing() as type, make_teleoperator("keyboard_ee", arrows="lerobot", use_gripper=False) as keyboard:
        assert list(keyboard.action_features) == ["delta_x", "delta_y", "delta_z"]
        type("\x1b[A\x1b[Do")
        wait_until(lambda: keyboard.get_action() == {"delta_x": 1.0, "delta_y": -1.0, "delta_z": 0.0})


@pytest.mark.parametrize(
    ("key", "events"),
    [
        ("s", {"success"}),
        ("q", {"terminate_episode"}),
        ("r", {"terminate_episode", "rerecord_episode"}),
        ("i", {"is_intervention"}),
    ],
)
def test_keys_tell_how_an_episode_ended(key: str, events: set[str]) -> None:
    with typing() as type:
        keyboard: Any = make_teleoperator("keyboard_ee")
        with keyboard:
            assert not any(keyboard.get_teleop_events().values())
            type(key)
            seen: set[str] = set()

            def all_seen() -> bool:
                seen.update(name for name, is_so in keyboard.get_teleop_events().items() if is_so)
                return seen >= events

            wait_until(all_seen)
            wait_until(lambda: not any(keyboard.get_teleop_events().values()))
            assert seen == events


def test_it_must_be_connected_once() -> None:
    keyboard = make_teleoperator("keyboard_ee")
    with pytest.raises(NotConnected):
        keyboard.get_action()
    with typing(), keyboard:
        with pytest.raises(AlreadyConnected):
            keyboard.connect()
        assert keyboard.is_calibrated
        assert "o c open, close" in keyboard.legend
    assert not keyboard.is_connected
    with pytest.raises(UsageError, match="arrows 'lerobots' is unknown; did you mean 'lerobot'"):
        make_teleoperator("keyboard_ee", arrows="lerobots")


@pytest.mark.parametrize("type", ["keyboard", "keyboard_ee", "gamepad"])
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("robot info", "has no motors on a bus that could be looked at"),
        ("calibrate", "has no motors: there is nothing to calibrate"),
        ("calibrate --undo=true", "keeps no calibration to go back to"),
        ("setup-motors", "has no motors whose ids could be set"),
    ],
)
def test_commands_about_motors_say_that_there_are_none(command: str, message: str, type: str) -> None:
    run = yardarm_here(*command.split(), f"--teleop.type={type}")
    assert run.returncode == 2
    assert message in run.stderr
    assert run.stderr.count("\n") == 1
    assert run.stdout == ""
