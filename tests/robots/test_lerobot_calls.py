"""Programs that were written for LeRobot's arms call ours in the same way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import wait_until
from tests.robots.twin_port import TwinPort, twin_of
from yardarm.errors import UsageError
from yardarm.robots import make_robot
from yardarm.robots.motors import read_calibration_file

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
