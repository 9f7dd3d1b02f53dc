"""OMX: six Dynamixel motors, driven like Koch's."""

from __future__ import annotations

from yardarm.robots.bus_device import BODY
from yardarm.robots.koch import KochFollower
from yardarm.robots.motors import PERCENT, Motor

__all__ = ["OmxFollower"]


class OmxFollower(KochFollower):
    """The arm that acts."""

    name = "omx_follower"
    built_offsets = {}  # noqa: RUF012 - a table
    motors = {  # noqa: RUF012 - a table
        "shoulder_pan": Motor(11, "xl430-w250", BODY),
        "shoulder_lift": Motor(12, "xl430-w250", BODY),
        "elbow_flex": Motor(13, "xl430-w250", BODY),
        "wrist_flex": Motor(14, "xl330-m288", BODY),
        "wrist_roll": Motor(15, "xl330-m288", BODY),
        "gripper": Motor(16, "xl330-m288", PERCENT),
    }
