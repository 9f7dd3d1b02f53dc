"""Programs that were written for LeRobot's arms call ours in the same way."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import wait_until
from tests.robots.twin_port import TwinPort, twin_of
from yardarm.errors import UsageError
from yardarm.robots import make_robot
from yardarm.robots.motors import read_calibration_file
from yardarm.robots.so_arm import SoFollower

FOLDER = Path(__file__).parents[1] / "golden" / "robots" / "so101_follower"


@pytest.fixture
def twin() -> Iterator[TwinPort]:
    with twin_of("so101_follower", read_calibration_file(FOLDER / "calibration.json")) as twin:
        yield twin


def follower(twin: TwinPort, **options: Any) -> Any:
    known = {"port": twin.path, "id": "calibration", "calibration_dir": FOLDER, "watchdog": False}
    return make_robot("so101_follower", **known, **options)


def test_one_motor_is_named_by_a_word_and_all_get_one_number(twin: TwinPort) -> None:
    bus = follower(twin).bus
    assert bus.port == twin.path
    bus.connect()
    bus.enable_torque("gripper", num_retry=2)
    assert [servo.get("Torque_Enable") for servo in twin.chain.servos] == [0, 0, 0, 0, 0, 1]
    bus.disable_torque("gripper")
    assert twin.servo(6).get("Torque_Enable") == 0
    assert list(bus.sync_read("Present_Position", "gripper", num_retry=2)) == ["gripper"]
    bus.sync_write("Goal_Velocity", 7)
    wait_until(lambda: [servo.get("Goal_Velocity") for servo in twin.chain.servos] == [7] * 6)
    with pytest.raises(UsageError, match="no motor was named for 'Goal_Velocity'"):
        bus.sync_write("Goal_Velocity", {})
    bus.disconnect()


@pytest.mark.parametrize("key", ["{}", "{}.pos"])
def test_caps_are_named_as_in_lerobot_or_as_in_actions(key: str, twin: TwinPort) -> None:
    caps = {key.format(name): 5.0 for name in SoFollower.motors}
    with follower(twin, max_relative_target=caps) as arm:
        present = arm.get_observation()
        sent = arm.send_action({name: value + 20.0 for name, value in present.items()})
        assert sent["gripper.pos"] == pytest.approx(present["gripper.pos"] + 5.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_relative_target": math.nan}, "max_relative_target must not be negative, got nan"),
        ({"max_relative_target": -5}, "max_relative_target must not be negative, got -5"),
        ({"max_relative_target": {"gripper": -1}}, "max_relative_target must not be negative, got -1"),
        ({"max_relative_target": {"griper": 1}}, "max_relative_target names 'griper'; did you mean 'gripper'?"),
        ({"num_read_retries": -1}, "num_read_retries must not be negative, got -1"),
    ],
)
def test_an_option_that_cannot_be_is_named_at_once(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        make_robot("so101_follower", port="/dev/none", **options)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ({}, "the action names no joint; it must have one of shoulder_pan.pos"),
        ({"gripper": 3.0}, "the action names no joint"),
        ({"gripper.pos": math.nan}, "gripper.pos must be a finite number, got nan"),
        ({"gripper.pos": math.inf}, "gripper.pos must be a finite number, got inf"),
        ({"elbow_flex.pos": math.inf}, "elbow_flex.pos must be a finite number, got inf"),
        ({"elbow_flex.pos": "x"}, "elbow_flex.pos must be a finite number, got 'x'"),
        ({"elbow_flex.pos": None}, "elbow_flex.pos must be a finite number, got None"),
    ],
)
def test_an_action_that_cannot_be_is_named(action: dict[str, Any], message: str, twin: TwinPort) -> None:
    arm = follower(twin)
    arm.bus.connect(handshake=False)
    with pytest.raises(UsageError) as error:
        arm.send_action(action)
    assert message in str(error.value)
    arm.bus.disconnect()


def test_a_number_that_a_register_cannot_have_is_named(twin: TwinPort) -> None:
    bus = follower(twin).bus
    bus.connect(handshake=False)
    with pytest.raises(UsageError, match="Goal_Velocity of gripper: cannot convert float NaN to integer"):
        bus.write("Goal_Velocity", "gripper", math.nan)
    with pytest.raises(UsageError, match="Goal_Position of elbow_flex: cannot convert float infinity to integer"):
        bus.write("Goal_Position", "elbow_flex", math.inf)
    bus.disconnect()
