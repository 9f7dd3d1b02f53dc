"""Which joints bring an arm's hand to a pose: damped least squares, within the joints' ends.

Each step minimises  |position error|² + |w·rotation error|² + |λ·step|²  over the joints that are free to move. A step
that makes things worse is taken back, and λ grows. So goals that are out of reach, and arms that are stretched out, end
as near as the arm gets: errors never grow, and no joint jumps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from yardarm.robots.kinematics.chain import Kinematics, Matrix
from yardarm.robots.kinematics.rotation import rotation_vector

__all__ = ["HandSolver", "Solution"]

ORIENTATION_WEIGHT = 0.01
"""Of a radian against a metre: an arm of five joints cannot turn its hand in every direction."""
STEPS = 30
LARGEST_STEP = math.radians(15)
SMALLEST_STEP = math.radians(1e-3)
DAMPINGS = (1e-3, 10.0)
DAMPING_FACTOR = 4.0
SMALLEST_GAIN = 1e-4
PLACE_FIRST = np.repeat([1.0, 0.1], 3)
CLOSE_M = 5e-4
OTHER_STARTS = 16
SPREAD = 0.857  # of a sequence that fills five dimensions evenly


@dataclass(frozen=True, slots=True)
class Solution:
    """Joints, and how far their hand is from what was asked."""

    joints: dict[str, float]
    """In degrees."""
    position_error_m: float
    rotation_error_deg: float


class HandSolver:
    """Finds joints for poses of an arm's hand; starts from joints that are near, such as the present ones."""

    def __init__(
        self,
        kinematics: Kinematics,
        limits: Mapping[str, tuple[float, float]] | None = None,
        orientation_weight: float = ORIENTATION_WEIGHT,
    ) -> None:
        self.kinematics = kinematics
        given = limits or {}
        ends = [given.get(joint.name, (-math.inf, math.inf)) for joint in kinematics.turning]
        self._low = np.array([max(joint.low, low) for joint, (low, _) in zip(kinematics.turning, ends, strict=True)])
        self._high = np.array(
            [min(joint.high, high) for joint, (_, high) in zip(kinematics.turning, ends, strict=True)]
        )
        self._weights = np.repeat([1.0, orientation_weight], 3)

    def solve(self, goal: Matrix, start: Mapping[str, float], max_change: float = math.inf) -> Solution:
        """The joints nearest to a goal; none is more than `max_change` degrees from its start.

        A joint that starts beyond its end may stay there, and goes no farther.
        """
        return self._solve(goal, start, max_change, self._weights)

    def _solve(self, goal: Matrix, start: Mapping[str, float], max_change: float, weights: Matrix) -> Solution:
        first = np.array([float(start[name]) for name in self.kinematics.joints])
        low = np.maximum(np.minimum(self._low, first), first - max_change)
        high = np.minimum(np.maximum(self._high, first), first + max_change)
        joints, damping = first, DAMPINGS[0]
        error, jacobian = self._look(joints, goal, weights)
        for _ in range(STEPS):
            step = _bounded_step(jacobian, error, damping, low - joints, high - joints)
            if np.abs(step).max(initial=0.0) < SMALLEST_STEP:
                break  # this is also where there is no error any more
            tried = np.clip(joints + np.degrees(step), low, high)
            new_error, new_jacobian = self._look(tried, goal, weights)
            gain = 1 - (new_error @ new_error) / (error @ error)
            if gain > 0:
                joints, error, jacobian = tried, new_error, new_jacobian
                damping = max(damping / DAMPING_FACTOR, DAMPINGS[0])
                if gain < SMALLEST_GAIN:
                    break
            elif damping >= DAMPINGS[1]:
                break
            else:
                damping *= DAMPING_FACTOR
        return self._solution(joints, goal)

    def find(self, goal: Matrix, start: Mapping[str, float]) -> Solution:
        """Joints for a goal that may be far away: if the way from the start does not lead there, from other starts.

        What is found may be far from the start, too: go there slowly.
        """
        best = self._placed(goal, start)
        for other in self._other_starts():
            if best.position_error_m < CLOSE_M:
                break
            best = min(best, self._placed(goal, other), key=lambda found: found.position_error_m)
        return best

    def _placed(self, goal: Matrix, start: Mapping[str, float]) -> Solution:
        """A solution whose place is right, however wrong its turn must be."""
        found = self.solve(goal, start)
        return self._solve(goal, found.joints, math.inf, self._weights * PLACE_FIRST)

    def _other_starts(self) -> Iterator[dict[str, float]]:
        """Joints that are spread evenly over their ranges."""
        low, high = np.maximum(self._low, -180.0), np.minimum(self._high, 180.0)
        for number in range(OTHER_STARTS):
            shares = (0.5 + number * SPREAD ** np.arange(1, len(low) + 1)) % 1
            yield dict(zip(self.kinematics.joints, (low + shares * (high - low)).tolist(), strict=True))

    def _look(self, joints: Matrix, goal: Matrix, weights: Matrix) -> tuple[Matrix, Matrix]:
        """What is missing to the goal, and by how much each joint changes it; both weighted."""
        pose, jacobian = self.kinematics.jacobian(joints.tolist())
        turn = rotation_vector(goal[:3, :3] @ pose[:3, :3].T)
        error = np.concatenate([goal[:3, 3] - pose[:3, 3], turn])
        return error * weights, jacobian * weights[:, None]

    def _solution(self, joints: Matrix, goal: Matrix) -> Solution:
        pose = self.kinematics.jacobian(joints.tolist())[0]
        turn = rotation_vector(goal[:3, :3] @ pose[:3, :3].T)
        return Solution(
            dict(zip(self.kinematics.joints, joints.tolist(), strict=True)),
            float(np.linalg.norm(goal[:3, 3] - pose[:3, 3])),
            math.degrees(float(np.linalg.norm(turn))),
        )


def _bounded_step(jacobian: Matrix, error: Matrix, damping: float, low: Matrix, high: Matrix) -> Matrix:
    """The best step, in radians. A joint at its end stays there, and the others do what they can."""
    room = np.radians(low), np.radians(high)
    step = np.zeros(jacobian.shape[1])
    free = np.ones(len(step), dtype=bool)
    while free.any():
        own = jacobian[:, free]
        rest = error - jacobian[:, ~free] @ step[~free]
        step[free] = np.linalg.solve(own.T @ own + damping**2 * np.eye(own.shape[1]), own.T @ rest)
        beyond = free & ((step < room[0]) | (step > room[1]))
        if not beyond.any():
            break
        step[beyond] = np.clip(step[beyond], room[0][beyond], room[1][beyond])
        free &= ~beyond
    largest = float(np.abs(step).max(initial=0.0))
    return step * (LARGEST_STEP / largest) if largest > LARGEST_STEP else step
