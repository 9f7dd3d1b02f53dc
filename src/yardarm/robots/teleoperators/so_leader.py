"""SO-100 and SO-101 leader: the follower's motors, moved by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yardarm.config import option
from yardarm.robots.bus_device import BusDeviceConfig
from yardarm.robots.device import Features
from yardarm.robots.motors import FeetechBus
from yardarm.robots.so_arm import POSITION_MODE, SO_MOTORS
from yardarm.robots.teleoperator import BusLeader

__all__ = ["SoLeader", "SoLeaderConfig"]


@dataclass
class SoLeaderConfig(BusDeviceConfig):
    """Flags of ``--teleop.type=so101_leader``."""

    use_degrees: bool = option(True, "joints in degrees; false: −100 to 100 of their range")


class SoLeader(BusLeader):
    """The arm that a person moves; it can move by itself to where the follower is."""

    name = "so_leader"
    config_class = SoLeaderConfig
    bus_class = FeetechBus
    motors = SO_MOTORS
    full_turn = ("wrist_roll",)
    calibration_mode = POSITION_MODE

    @property
    def feedback_features(self) -> Features:
        """The joints: with torque, it follows."""
        return self.joint_features

    def configure(self) -> None:
        """Position mode, and no torque."""
        self.bus.disable_torque()
        self.bus.configure_motors()
        self.bus.write_all("Operating_Mode", POSITION_MODE)

    def send_feedback(self, feedback: Mapping[str, Any]) -> None:
        """Move to where the follower is; needs torque."""
        self.require_connected()
        self.bus.sync_write("Goal_Position", self.goals(feedback))

    def enable_torque(self) -> None:
        """Hold the joints."""
        self.bus.enable_torque()

    def disable_torque(self) -> None:
        """Let the person move the joints."""
        self.bus.disable_torque()
