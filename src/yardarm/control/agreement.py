"""Whether a teleoperator's actions are what a robot understands."""

from __future__ import annotations

from yardarm.control.teleoperation import Process
from yardarm.errors import UsageError
from yardarm.robots import Robot, Teleoperator

__all__ = ["process_between"]


def process_between(teleoperator: Teleoperator, robot: Robot) -> Process | None:
    """What turns the teleoperator's actions into the robot's; None: they have the same names."""
    asked, known = teleoperator.action_features, robot.action_features
    if asked.keys() == known.keys():
        return None
    raise UsageError(
        f"{teleoperator} cannot move {robot}: its actions are {', '.join(asked)}, and the robot's are "
        f"{', '.join(known)}; choose a teleoperator with the same names"
    )
