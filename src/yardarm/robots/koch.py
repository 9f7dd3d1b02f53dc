"""Koch: six Dynamixel motors."""

from __future__ import annotations

from dataclasses import dataclass

from yardarm.config import option
from yardarm.robots.bus_device import BODY
from yardarm.robots.motors import PERCENT, DynamixelBus, Motor
from yardarm.robots.robot import BusRobot, BusRobotConfig

__all__ = ["EXTENDED_POSITION_MODE", "GRIPPER_MODE", "KochFollower", "KochFollowerConfig"]

EXTENDED_POSITION_MODE = 4
# A position that yields to force, so that nothing is crushed.
GRIPPER_MODE = 5


@dataclass
class KochFollowerConfig(BusRobotConfig):
    """Flags of ``--robot.type=koch_follower``."""

    use_degrees: bool = option(False, "joints in degrees; false: −100 to 100 of their range")


class KochFollower(BusRobot):
    """The arm that acts."""

    name = "koch_follower"
    config_class = KochFollowerConfig
    bus_class = DynamixelBus
    motors = {  # noqa: RUF012 - a table
        "shoulder_pan": Motor(1, "xl430-w250", BODY),
        "shoulder_lift": Motor(2, "xl430-w250", BODY),
        "elbow_flex": Motor(3, "xl330-m288", BODY),
        "wrist_flex": Motor(4, "xl330-m288", BODY),
        "wrist_roll": Motor(5, "xl330-m288", BODY),
        "gripper": Motor(6, "xl330-m288", PERCENT),
    }
    full_turn = ("shoulder_pan", "wrist_roll")
    calibration_mode = EXTENDED_POSITION_MODE

    def configure(self) -> None:
        """Positions beyond one turn, a gripper that yields, and a stiffer elbow."""
        bus = self.bus
        with bus.torque_disabled():
            bus.configure_motors()
            bus.write_all("Operating_Mode", EXTENDED_POSITION_MODE, [name for name in self.motors if name != "gripper"])
            bus.write("Operating_Mode", "gripper", GRIPPER_MODE)
            bus.write("Position_P_Gain", "elbow_flex", 1500)
            bus.write("Position_I_Gain", "elbow_flex", 0)
            bus.write("Position_D_Gain", "elbow_flex", 600)
