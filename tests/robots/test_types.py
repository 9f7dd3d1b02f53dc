"""Every type has the features that LeRobot gives it, before it is connected."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from yardarm.errors import NotConnected, RobotFault, UsageError
from yardarm.robots import ROBOTS, TELEOPERATORS, make_robot, make_teleoperator

CALIBRATIONS = Path(__file__).parents[1] / "golden" / "robots"
GOLDEN = json.loads((CALIBRATIONS / "features.json").read_text())
KINDS = {"float": float}


def options(name: str) -> dict[str, Any]:
    if name.startswith("bi_"):
        return {"id": "two", "left_arm_config": {"port": "/dev/left"}, "right_arm_config.port": "/dev/right"}
    return {"port": "/dev/none"}


def joints(features: dict[str, Any]) -> dict[str, Any]:
    """The recording has cameras, too."""
    return {name: KINDS[kind] for name, kind in features.items() if isinstance(kind, str)}


@pytest.mark.parametrize("name", [name for name in GOLDEN["robots"] if name in ROBOTS.names()])
def test_a_robot_has_lerobots_features(name: str) -> None:
    robot, recorded = make_robot(name, **options(name)), GOLDEN["robots"][name]
    assert robot.name == recorded["name"]
    assert list(robot.observation_features.items()) == list(joints(recorded["observation_features"]).items())
    assert list(robot.action_features.items()) == list(joints(recorded["action_features"]).items())


@pytest.mark.parametrize("name", [name for name in GOLDEN["teleoperators"] if name in TELEOPERATORS.names()])
def test_a_teleoperator_has_lerobots_features(name: str) -> None:
    leader, recorded = make_teleoperator(name, **options(name)), GOLDEN["teleoperators"][name]
    assert leader.name == recorded["name"]
    assert list(leader.action_features.items()) == list(joints(recorded["action_features"]).items())
    assert list(leader.feedback_features.items()) == list(joints(recorded["feedback_features"]).items())


def test_the_types_are_lerobots() -> None:
    assert ROBOTS.names() == ["bi_so_follower", "koch_follower", "omx_follower", "so100_follower", "so101_follower"]
    lerobots = [name for name in TELEOPERATORS.names() if not name.startswith("scripted_")]  # those are our own
    assert lerobots == [
        *("bi_so_leader", "gamepad", "keyboard", "keyboard_ee", "koch_leader", "omx_leader"),
        *("so100_leader", "so101_leader"),
    ]


@pytest.mark.parametrize(
    ("type", "more", "message"),
    [
        ("so101_folower", {}, "unknown robot 'so101_folower'; did you mean 'so101_follower'?"),
        ("lekiwi", {}, "robot 'lekiwi' is not supported yet; LeRobot itself can drive it"),
        ("so101_follower", {}, "so_follower: port is missing"),
        ("so101_follower", {"prot": "x"}, "unknown option '--robot.prot'; did you mean 'port'?"),
        ("so101_follower", {"port": "x", "cameras": {"front": {"type": "opencv"}}}, "front needs width"),
        ("bi_so_follower", {"id": "a"}, "left_arm_config.port is missing"),
        ("bi_so_follower", {}, "id is missing; the arms' calibrations are kept as ID_left and ID_right"),
        ("bi_so_follower", {"id": "a", "left_arm_config.id": "b"}, "omit left_arm_config.id"),
        ("bi_so_follower", {"id": "a", "left_arm_config.prot": "b"}, "unknown option '--robot.left_arm_config.prot'"),
        ("bi_so_follower", {"id": "a", "left_arm_config": "b"}, "--robot.left_arm_config must have options"),
        (
            "bi_so_follower",
            {"id": "a", "left_arm_config.port": "/dev/x", "right_arm_config.port": "/dev/x"},
            "both arms have the port /dev/x",
        ),
        ("so101_follower", {"port": "x", "id": "../a"}, "id '../a' cannot be the name of a file"),
        ("so101_follower", {"port": "x", "position_p_coefficient": 999}, "position_p_coefficient must be 0 to 254"),
        ("", {}, "--robot.type is missing; use one of bi_so_follower"),
    ],
)
def test_a_mistake_is_named(type: str, more: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        make_robot(type, **more)
    assert message in str(error.value)


def changed(**changes: int) -> bytes:
    own = json.loads((CALIBRATIONS / "so101_follower" / "calibration.json").read_text())
    own["gripper"] |= changes
    return json.dumps(own).encode()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe{}", "cannot be read: 'utf-8' codec"),
        (changed().replace(b"gripper", b"hand"), "but so_follower 'a' has shoulder_pan, "),
        (changed(homing_offset=99999), "Homing_Offset of gripper: "),
        (changed(range_max=5000), "to 5000, is not within 0 to 4095"),
        (changed(range_min=-1), "the range of gripper, -1 to "),
    ],
)
def test_a_calibration_file_that_is_not_this_arms_is_refused_at_once(
    content: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(UsageError) as error:
        make_robot("so101_follower", port="/dev/none", id="a", calibration_dir=tmp_path)
    assert f"{tmp_path / 'a.json'}" in str(error.value)
    assert message in str(error.value)


def test_an_arm_without_a_calibration_says_so() -> None:
    arm: Any = make_robot("so101_follower", port="/dev/none", id="new")
    with pytest.raises(RobotFault, match="'gripper' is not calibrated; run `yardarm calibrate`") as error:
        arm.bus.scale("gripper")
    assert not isinstance(error.value, NotConnected)


def test_an_empty_map_of_cameras_is_none() -> None:
    assert make_robot("so101_follower", port="x", cameras={}).cameras == {}
