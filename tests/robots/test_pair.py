"""Two arms as one device."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import wait_until
from tests.robots.twin_port import TwinPort, twin_of
from yardarm.errors import BusFault, UsageError
from yardarm.robots import make_robot, make_teleoperator
from yardarm.robots.motors import MotorCalibration, calibration_to_json, read_calibration_file
from yardarm.robots.side_by_side import SideBySide

GOLDEN = Path(__file__).parents[1] / "golden" / "robots"
CALIBRATION = read_calibration_file(GOLDEN / "so101_follower" / "calibration.json")


@pytest.fixture
def twins() -> Iterator[tuple[TwinPort, TwinPort]]:
    with twin_of("so101_follower", CALIBRATION) as left, twin_of("so101_follower", CALIBRATION) as right:
        yield left, right


def pair_of(twins: tuple[TwinPort, TwinPort], folder: Path, type: str = "bi_so_follower") -> Any:
    for side in ("left", "right"):
        (folder / f"two_{side}.json").write_text(calibration_to_json(CALIBRATION))
    make: Any = make_teleoperator if type.endswith("leader") else make_robot
    return make(
        type,
        id="two",
        calibration_dir=folder,
        left_arm_config={"port": twins[0].path},
        right_arm_config={"port": twins[1].path},
    )


def test_a_pair_is_observed_and_acts(twins: tuple[TwinPort, TwinPort], tmp_path: Path) -> None:
    with pair_of(twins, tmp_path) as robot:
        observation = robot.get_observation()
        assert list(observation) == list(robot.observation_features)
        sent = robot.send_action({"left_gripper.pos": 60.0, "right_gripper.pos": 20.0})
        assert sent == {"left_gripper.pos": 60.0, "right_gripper.pos": 20.0}
        raw = robot.arms["left"].bus.scale("gripper").raw
        goals = [raw(60.0), raw(20.0)]
        wait_until(lambda: [twin.servo(6).get("Goal_Position") for twin in twins] == goals)
    assert [twin.servo(6).get("Torque_Enable") for twin in twins] == [0, 0]


def test_a_pair_of_leaders_gives_actions(twins: tuple[TwinPort, TwinPort], tmp_path: Path) -> None:
    twins[1].servo(2).shaft += 100
    with pair_of(twins, tmp_path, "bi_so_leader") as leader:
        action = leader.get_action()
    assert list(action) == list(leader.action_features)
    assert action["right_shoulder_lift.pos"] - action["left_shoulder_lift.pos"] == pytest.approx(100 * 360 / 4095)


def test_the_left_arm_is_released_if_the_right_one_does_not_connect(
    twins: tuple[TwinPort, TwinPort], tmp_path: Path
) -> None:
    twins[1].chain.servos.pop()
    robot = pair_of(twins, tmp_path)
    with pytest.raises(BusFault, match=r"gripper \(id 6\) does not answer"):
        robot.connect()
    assert not any(arm.is_connected for arm in robot.arms.values())
    assert twins[0].servo(1).get("Torque_Enable") == 0


@pytest.mark.parametrize("lost", [(0,), (1,), (0, 1)])
def test_both_arms_are_let_go_and_whoever_does_not_listen_is_named(
    lost: tuple[int, ...], twins: tuple[TwinPort, TwinPort], tmp_path: Path
) -> None:
    robot = pair_of(twins, tmp_path)
    robot.connect()
    servos = {index: list(twins[index].chain.servos) for index in lost}
    for index in lost:
        twins[index].chain.servos.clear()
    with pytest.raises(BusFault) as caught:
        robot.release()
    assert all(twins[index].path in str(caught.value) for index in lost)
    listening = [twins[index] for index in (0, 1) if index not in lost]
    assert all(twin.servo(number).get("Torque_Enable") == 0 for twin in listening for number in range(1, 7))
    for index in lost:
        twins[index].chain.servos[:] = servos[index]
    robot.disconnect()


@pytest.mark.parametrize("lost", [0, 1])
def test_one_arm_is_released_if_the_other_one_is_lost(
    lost: int, twins: tuple[TwinPort, TwinPort], tmp_path: Path
) -> None:
    robot = pair_of(twins, tmp_path)
    robot.connect()
    twins[lost].chain.servos.clear()
    with pytest.raises(BusFault):
        robot.disconnect()
    other = twins[1 - lost]
    assert [servo.get("Torque_Enable") for servo in other.chain.servos] == [0] * 6
    assert not any(arm.is_connected for arm in robot.arms.values())


def test_omx_needs_nobody_to_calibrate(tmp_path: Path) -> None:
    with (
        twin_of("omx_leader") as twin,
        make_teleoperator("omx_leader", port=twin.path, id="a", calibration_dir=tmp_path) as leader,
    ):
        gripper = twin.servo(6)
        assert leader.is_calibrated
        assert leader.calibration["gripper"] == MotorCalibration(6, 1, 100, 0, 4095)
        assert leader.calibration["elbow_flex"] == MotorCalibration(3, 0, 0, 0, 4095)
        registers = {name: gripper.get(name) for name in ("Drive_Mode", "Operating_Mode", "Current_Limit")}
        assert registers == {"Drive_Mode": 1, "Operating_Mode": 5, "Current_Limit": 100}
        assert gripper.get("Goal_Position") == int(0.6 * 4095)
        assert gripper.get("Torque_Enable") == 1
    assert read_calibration_file(tmp_path / "a.json") == leader.calibration


def test_a_pair_leaves_its_left_arm_first(twins: tuple[TwinPort, TwinPort], tmp_path: Path) -> None:
    robot, order = pair_of(twins, tmp_path), []
    robot.connect()
    for arm in (robot.left_arm, robot.right_arm):
        arm.bus.line._on_bytes = lambda sent, content, arm=arm: order.append(arm.id)
    robot.disconnect()
    assert list(dict.fromkeys(order)) == ["two_left", "two_right"]


def test_an_action_for_no_joint_of_a_pair_is_refused(twins: tuple[TwinPort, TwinPort], tmp_path: Path) -> None:
    with (
        pair_of(twins, tmp_path) as robot,
        pytest.raises(UsageError, match="the action names no joint; it must have one of left_shoulder_pan"),
    ):
        robot.send_action({"gripper.pos": 3.0})


@pytest.mark.parametrize("type", ["koch_leader", "omx_leader"])
def test_a_leader_that_takes_no_feedback_says_so(type: str) -> None:
    with pytest.raises(NotImplementedError, match=f"{type} takes no feedback"):
        make_teleoperator(type, port="/dev/none").send_feedback({"gripper.pos": 1.0})


def test_both_arms_are_read_at_the_same_time(twins: tuple[TwinPort, TwinPort], tmp_path: Path) -> None:
    with pair_of(twins, tmp_path) as robot:
        # Each arm answers only when the other one has been asked, too.
        together = threading.Barrier(2, timeout=60)
        for twin in twins:
            twin.chain.before_request = together.wait
        assert len(robot.get_observation()) == 12
        for twin in twins:
            twin.chain.before_request = lambda: None


def test_what_fails_on_one_side_waits_for_the_other() -> None:
    done: list[str] = []

    def act(side: str) -> None:
        if side == "left":
            raise BusFault("no answer")
        time.sleep(0.05)
        done.append(side)

    both = SideBySide()
    with pytest.raises(BusFault, match="no answer"):
        both(act, {"left": "left", "right": "right"})
    assert done == ["right"]
