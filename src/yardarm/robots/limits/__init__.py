"""How far an arm's joints go, and where its hand gets."""

from yardarm.robots.limits.extremes import Extremes, follow_joints

__all__ = ["Extremes", "follow_joints"]
