"""Koch leader: six Dynamixel motors moved by hand, with a gripper that springs back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from yardarm.config import option
from yardarm.robots.bus_device import BODY, BusDeviceConfig
from yardarm.robots.koch import EXTENDED_POSITION_MODE, GRIPPER_MODE
from yardarm.robots.motors import PERCENT, DynamixelBus, Motor
from yardarm.robots.teleoperator import BusLeader

__all__ = ["KochLeader", "KochLeaderConfig"]


@dataclass
class KochLeaderConfig(BusDeviceConfig):
    """Flags of ``--teleop.type=koch_leader``."""

    gripper_open_pos: float = option(50.0, "where the gripper springs back to, in percent of its range")


class KochLeader(BusLeader):
    """The arm that a person moves."""

    name = "koch_leader"
    config_class = KochLeaderConfig
    bus_class = DynamixelBus
    motors = {  # noqa: RUF012 - a table
        "shoulder_pan": Motor(1, "xl330-m077", BODY),
        "shoulder_lift": Motor(2, "xl330-m077", BODY),
        "elbow_flex": Motor(3, "xl330-m077", BODY),
        "wrist_flex": Motor(4, "xl330-m077", BODY),
        "wrist_roll": Motor(5, "xl330-m077", BODY),
        "gripper": Motor(6, "xl330-m077", PERCENT),
    }
    full_turn: ClassVar[tuple[str, ...]] = ("shoulder_pan", "wrist_roll")
    calibration_mode = EXTENDED_POSITION_MODE
    reversed = ("elbow_flex",)

    def configure(self) -> None:
        """No torque but in the gripper, which springs back to its open position."""
        bus = self.bus
        bus.disable_torque()
        bus.configure_motors()
        bus.write_all("Operating_Mode", EXTENDED_POSITION_MODE, [name for name in self.motors if name != "gripper"])
        bus.write("Operating_Mode", "gripper", GRIPPER_MODE)
        self.spring_gripper()

    def spring_gripper(self) -> None:
        """Give torque to the gripper, and send it to its open position, if it is known where that is."""
        self.bus.enable_torque(["gripper"])
        if self.is_calibrated:
            self.bus.write("Goal_Position", "gripper", self.config.gripper_open_pos)
