"""OMX leader: six Dynamixel motors moved by hand, with a gripper that springs back like Koch's."""

from __future__ import annotations

from dataclasses import dataclass

from yardarm.config import option
from yardarm.robots.bus_device import BODY
from yardarm.robots.koch import EXTENDED_POSITION_MODE, GRIPPER_MODE
from yardarm.robots.motors import PERCENT, Motor
from yardarm.robots.teleoperators.koch_leader import KochLeader, KochLeaderConfig

__all__ = ["OmxLeader", "OmxLeaderConfig"]

# In mA: a finger can push the gripper closed.
GRIPPER_CURRENT = 100
GRIPPER_OFFSET = 100


@dataclass
class OmxLeaderConfig(KochLeaderConfig):
    """Flags of ``--teleop.type=omx_leader``."""

    gripper_open_pos: float = option(60.0, "where the gripper springs back to, in percent of its range")


class OmxLeader(KochLeader):
    """The arm that a person moves."""

    name = "omx_leader"
    config_class = OmxLeaderConfig
    motors = {  # noqa: RUF012 - a table
        "shoulder_pan": Motor(1, "xl330-m288", BODY),
        "shoulder_lift": Motor(2, "xl330-m288", BODY),
        "elbow_flex": Motor(3, "xl330-m288", BODY),
        "wrist_flex": Motor(4, "xl330-m288", BODY),
        "wrist_roll": Motor(5, "xl330-m288", BODY),
        "gripper": Motor(6, "xl330-m077", PERCENT),
    }
    full_turn = ()
    reversed = ("gripper",)
    built_offsets = {"gripper": GRIPPER_OFFSET}  # noqa: RUF012 - a table

    def configure(self) -> None:
        """No torque but in the gripper, which springs back, gently."""
        bus = self.bus
        bus.disable_torque()
        bus.configure_motors()
        for name in self.motors:
            if name != "gripper":
                bus.write("Operating_Mode", name, EXTENDED_POSITION_MODE)
            bus.write("Drive_Mode", name, int(name in self.reversed))
        bus.write("Operating_Mode", "gripper", GRIPPER_MODE)
        bus.write("Current_Limit", "gripper", GRIPPER_CURRENT)
        bus.write("Goal_Current", "gripper", GRIPPER_CURRENT)
        bus.write("Homing_Offset", "gripper", GRIPPER_OFFSET)
        self.spring_gripper()
