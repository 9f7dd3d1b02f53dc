"""Poses of a hand by LeRobot's names: ``ee.x`` … ``ee.z`` in metres, ``ee.wx`` … ``ee.wz`` as a rotation vector."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from yardarm.control.processing.arm_joints import GRIPPER, ArmJoints
from yardarm.control.processing.hand_limits import HandLimits
from yardarm.control.processing.options import EeOptions
from yardarm.robots import Reading
from yardarm.robots.kinematics import HandSolver, Kinematics, Matrix, rotation_matrix, rotation_vector

__all__ = ["EE", "BoundedEe", "EeToJoints", "JointsToEe", "ee_values"]

POSITION, ROTATION, GRIPPER_POSITION = ("ee.x", "ee.y", "ee.z"), ("ee.wx", "ee.wy", "ee.wz"), "ee.gripper_pos"
EE = (*POSITION, *ROTATION, GRIPPER_POSITION)
LARGEST_STEP_DEG = 10.0
"""In one turn of the loop; the guard's limits of speed are below it."""
LOST_DEG = 45.0
"""An arm that is this far from where it was sent is somewhere else: solving starts from where it is."""


class JointsToEe:
    """Where the hand is, for observations."""

    def __init__(self, kinematics: Kinematics, joints: ArmJoints) -> None:
        self._kinematics, self._joints = kinematics, joints

    def __call__(self, values: Mapping[str, float]) -> dict[str, float]:
        """The hand's pose and the gripper, from the joints of an observation or an action."""
        return ee_values(self._kinematics.pose(self._joints.degrees(values)), float(values[GRIPPER]))


class BoundedEe:
    """Goals of a hand that are asked for directly, kept in the box and near to the hand."""

    def __init__(self, kinematics: Kinematics, joints: ArmJoints, options: EeOptions) -> None:
        self._kinematics, self._joints = kinematics, joints
        self._limits = HandLimits(options)
        self.reset()

    def reset(self) -> None:
        """Start from where the arm is."""
        self._place: Matrix | None = None

    def __call__(self, asked: Mapping[str, float], reading: Reading) -> dict[str, float]:
        """The goal of this turn."""
        hand = self._kinematics.position(self._joints.degrees(reading.values))
        wanted = np.array([asked[name] for name in POSITION], dtype=float)
        self._place = self._limits.limited(wanted, hand if self._place is None else self._place, hand)
        return {**asked, **dict(zip(POSITION, self._place.tolist(), strict=True))}

    def settle(self, reached: Matrix) -> None:
        """Go on from where the arm gets."""
        if self._place is not None:
            self._place = self._limits.settled(self._place, reached)


class EeToJoints:
    """The joints that bring the hand to a pose, near those of the turn before."""

    def __init__(self, kinematics: Kinematics, joints: ArmJoints, orientation_weight: float = 0.01) -> None:
        self._kinematics, self._joints, self._weight = kinematics, joints, orientation_weight
        self._solver: HandSolver | None = None
        self._last: dict[str, float] | None = None

    def __call__(self, asked: Mapping[str, float], reading: Reading) -> dict[str, float]:
        """The robot's action for a pose."""
        if self._solver is None:
            self._solver = HandSolver(self._kinematics, self._joints.limits(), self._weight)
        present = self._joints.degrees(reading.values)
        if self._last is None or any(abs(self._last[name] - present[name]) > LOST_DEG for name in present):
            self._last = present
        self._last = self._solver.solve(_pose(asked), self._last, LARGEST_STEP_DEG).joints
        return {**self._joints.action(self._last), GRIPPER: float(asked[GRIPPER_POSITION])}

    @property
    def reached(self) -> Matrix:
        """Where the last action brings the hand."""
        assert self._last is not None
        return self._kinematics.position(self._last)

    def reset(self) -> None:
        """Start from where the arm is."""
        self._last = None


def ee_values(pose: Matrix, gripper: float) -> dict[str, float]:
    """A pose by its names."""
    numbers = [*pose[:3, 3].tolist(), *rotation_vector(pose[:3, :3]).tolist(), gripper]
    return dict(zip(EE, numbers, strict=True))


def _pose(values: Mapping[str, float]) -> Matrix:
    """A pose from its names."""
    pose = np.eye(4)
    pose[:3, 3] = [values[name] for name in POSITION]
    pose[:3, :3] = rotation_matrix(np.array([values[name] for name in ROTATION], dtype=float))
    return pose
