"""A twin behind a pseudo-terminal is driven like an arm."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.robots.twin_port import twin_of
from yardarm.robots import make_robot
from yardarm.robots.motors import read_calibration_file

GOLDEN = Path(__file__).parents[1] / "golden" / "robots"


@pytest.mark.parametrize("name", ["so101_follower", "koch_follower"])
def test_an_arm_is_observed_and_acts(name: str) -> None:
    calibration = read_calibration_file(GOLDEN / name / "calibration.json")
    with (
        twin_of(name, calibration) as twin,
        make_robot(name, port=twin.path, id="calibration", calibration_dir=GOLDEN / name) as arm,
    ):
        assert arm.is_calibrated
        before = arm.get_observation()
        assert arm.send_action({**before, "gripper.pos": 60.0})["gripper.pos"] == 60.0
        arm.get_observation()  # a request that is answered: so the one before has arrived
        gripper = twin.chain.servos[-1]
        assert gripper.get("Goal_Position") == arm.bus.scale("gripper").raw(60.0)
        assert gripper.get("Torque_Enable") == 1
    assert gripper.get("Torque_Enable") == 0
