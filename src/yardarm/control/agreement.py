"""What a teleoperator and a robot need between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yardarm.robots import Robot, Teleoperator

if TYPE_CHECKING:
    from yardarm.control.processing import EeOptions, Process

__all__ = ["process_between"]


def process_between(teleoperator: Teleoperator, robot: Robot, options: EeOptions | None = None) -> Process | None:
    """What turns the teleoperator's actions into the robot's; None: they have the same names."""
    from yardarm.control.processing import processor_between  # needs numpy

    return processor_between(teleoperator, robot, options)
