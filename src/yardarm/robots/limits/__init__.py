"""How far an arm's joints go, and where its hand gets."""

from yardarm.robots.limits.extremes import Extremes, follow_joints
from yardarm.robots.limits.kinematics import Kinematics

__all__ = ["Extremes", "Kinematics", "follow_joints"]
