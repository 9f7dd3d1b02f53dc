"""One turn of the loop that controls a robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from yardarm.robots import Reading

__all__ = ["Tick"]


@dataclass(frozen=True, slots=True)
class Tick:
    """What was seen, wanted and sent in a turn. Times are the loop's clock's, in seconds."""

    index: int
    """Its place on the grid of 1/fps, from 0; turns that were missed are left out."""
    due_s: float
    """When it should have begun."""
    began_s: float
    """When it began."""
    reading: Reading
    asked: Mapping[str, float]
    """The action that was asked for, in the robot's own names."""
    sent: Mapping[str, float]
    """The action that was sent: the guard may have slowed it."""
    sent_s: float
    """When it was sent."""
