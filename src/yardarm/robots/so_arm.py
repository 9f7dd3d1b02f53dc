"""SO-100 and SO-101: six Feetech motors."""

from __future__ import annotations

from dataclasses import dataclass

from yardarm.config import option
from yardarm.errors import UsageError
from yardarm.robots.bus_device import BODY
from yardarm.robots.motors import PERCENT, FeetechBus, Motor
from yardarm.robots.robot import BusRobot, BusRobotConfig

__all__ = ["SO_MOTORS", "SoFollower", "SoFollowerConfig"]

POSITION_MODE = 0
LARGEST_COEFFICIENT = 254
SO_MOTORS = {
    "shoulder_pan": Motor(1, "sts3215", BODY),
    "shoulder_lift": Motor(2, "sts3215", BODY),
    "elbow_flex": Motor(3, "sts3215", BODY),
    "wrist_flex": Motor(4, "sts3215", BODY),
    "wrist_roll": Motor(5, "sts3215", BODY),
    "gripper": Motor(6, "sts3215", PERCENT),
}


@dataclass
class SoFollowerConfig(BusRobotConfig):
    """Flags of ``--robot.type=so101_follower``."""

    position_p_coefficient: int = option(16, "how hard joints pull to their goals; the factory's 32 makes them shake")
    position_i_coefficient: int = option(0, "how hard they pull when they do not get there")
    position_d_coefficient: int = option(32, "how much they brake")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("position_p_coefficient", "position_i_coefficient", "position_d_coefficient"):
            if not 0 <= getattr(self, name) <= LARGEST_COEFFICIENT:
                raise UsageError(f"{name} must be 0 to {LARGEST_COEFFICIENT}, got {getattr(self, name)}")


class SoFollower(BusRobot):
    """The arm that acts."""

    name = "so_follower"
    config_class = SoFollowerConfig
    bus_class = FeetechBus
    motors = SO_MOTORS
    full_turn = ("wrist_roll",)
    calibration_mode = POSITION_MODE

    def configure(self) -> None:
        """Position mode, soft gains, and a gripper that does not crush."""
        config, bus = self.config, self.bus
        with bus.torque_disabled():
            bus.configure_motors()
            for name in self.motors:
                bus.write("Operating_Mode", name, POSITION_MODE)
                bus.write("P_Coefficient", name, config.position_p_coefficient)
                bus.write("I_Coefficient", name, config.position_i_coefficient)
                bus.write("D_Coefficient", name, config.position_d_coefficient)
            bus.write("Max_Torque_Limit", "gripper", 500)  # half, or it burns out
            bus.write("Protection_Current", "gripper", 250)
            bus.write("Overload_Torque", "gripper", 25)
