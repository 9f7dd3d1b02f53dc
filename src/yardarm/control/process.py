"""What stands between a teleoperator and a robot whose names differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from yardarm.robots import Reading

__all__ = ["Process"]


class Process(Protocol):
    """Turns what a teleoperator asks for into an action of the robot."""

    def __call__(self, asked: Mapping[str, float], reading: Reading) -> dict[str, float]:
        """The robot's action for what was asked; called once in each turn of the loop."""

    def reset(self) -> None:
        """Forget what was asked before: somebody else may have moved the arm, such as at the end of an episode."""
