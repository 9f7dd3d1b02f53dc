"""Where a hand's goal may be: in a box, and near to the hand."""

from __future__ import annotations

import numpy as np

from yardarm.control.processing.options import EeOptions
from yardarm.robots.kinematics import Matrix

__all__ = ["HandLimits"]

SLACK_M = 0.005


class HandLimits:
    """Keeps goals in the box and near to the hand, by slowing them down."""

    def __init__(self, options: EeOptions) -> None:
        self._low, self._high = (np.array(end, dtype=float) for end in options.box)
        self._longest = options.max_ee_step_m

    def limited(self, wanted: Matrix, before: Matrix, hand: Matrix) -> Matrix:
        """The place nearest to the wanted one that may follow the one before, with the hand where it is.

        A place outside of the box may stay there, and goes no farther out: nothing jumps.
        """
        place = before + _no_longer_than(wanted - before, self._longest)
        place = np.clip(place, np.minimum(self._low, before), np.maximum(self._high, before))
        return hand + _no_longer_than(place - hand, self._longest)

    def settled(self, place: Matrix, reached: Matrix) -> Matrix:
        """A place that the arm cannot reach, back to where it gets: so that it turns round at once."""
        return reached + _no_longer_than(place - reached, SLACK_M)

    def are_far_apart(self, place: Matrix, hand: Matrix) -> bool:
        """Whether a goal is so far away that the arm must have been moved by somebody else."""
        return float(np.linalg.norm(place - hand)) > self._longest


def _no_longer_than(vector: Matrix, length: float) -> Matrix:
    own = float(np.linalg.norm(vector))
    return vector if own <= length else vector * (length / own)
