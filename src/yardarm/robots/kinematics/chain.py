"""Where an arm's hand is, given its joints, and how it moves with each of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from yardarm.robots.kinematics.rotation import about

__all__ = ["Joint", "Kinematics", "Matrix"]

Matrix = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, slots=True)
class Joint:
    """A joint of the chain: where it is on its parent, what moves about which axis, and how far."""

    name: str
    parent: str
    kind: str
    origin: Matrix
    axis: Matrix
    low: float = -math.inf
    """In degrees."""
    high: float = math.inf

    @property
    def turns(self) -> bool:
        """Whether it moves."""
        return self.kind != "fixed"


class Kinematics:
    """The joints between an arm's base and one of its frames."""

    def __init__(self, chain: Sequence[Joint]) -> None:
        self._chain = tuple(chain)
        self.turning = [joint for joint in chain if joint.turns]
        self.joints = [joint.name for joint in self.turning]

    def position(self, degrees: Mapping[str, float]) -> Matrix:
        """Where the frame is, in metres, for these joints."""
        return self.pose(degrees)[:3, 3]

    def pose(self, degrees: Mapping[str, float]) -> Matrix:
        """The frame's pose in its base's frame, for these joints."""
        return self._walk([degrees.get(name, 0.0) for name in self.joints])[0]

    def jacobian(self, degrees: Sequence[float]) -> tuple[Matrix, Matrix]:
        """The pose, and by how much each joint moves and turns it: six rows, per radian."""
        pose, axes, places = self._walk(degrees)
        moves = np.cross(axes, pose[:3, 3] - places)
        return pose, np.vstack([moves.T, axes.T])

    def base_axis(self) -> tuple[Matrix, Matrix]:
        """The axis of the first joint, and its place."""
        _, axes, places = self._walk([0.0] * len(self.turning))
        return axes[0], places[0]

    def _walk(self, degrees: Sequence[float]) -> tuple[Matrix, Matrix, Matrix]:
        """The pose of the frame, and the axis and the place of each joint that turns."""
        pose, number = np.eye(4), 0
        axes, places = np.zeros((len(self.turning), 3)), np.zeros((len(self.turning), 3))
        for joint in self._chain:
            pose = pose @ joint.origin
            if joint.turns:
                axes[number], places[number] = pose[:3, :3] @ joint.axis, pose[:3, 3]
                pose[:3, :3] = pose[:3, :3] @ about(joint.axis, math.radians(degrees[number]))
                number += 1
        return pose, axes, places
