"""What a robot measures, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # importing it takes a quarter of a second, and not every robot has a camera
    import numpy as np

__all__ = ["Frame", "Reading"]


@dataclass(frozen=True, slots=True)
class Frame:
    """A picture of a camera. Frames of the same number are the same picture."""

    picture: np.ndarray
    """Bytes, (height, width, 3); of depth, 16 bits in millimetres, (height, width, 1)."""
    captured_s: float
    """When it was taken, by the clock of whoever reads it."""
    number: int
    """How many the camera had taken before it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """An observation, with its times."""

    values: Mapping[str, Any]
    """By name, as LeRobot observes: joints are numbers, cameras are pictures."""
    joints_s: float
    """When the joints were read."""
    frames: Mapping[str, Frame] = field(default_factory=dict)
    """The same pictures as in `values`, with their times."""
