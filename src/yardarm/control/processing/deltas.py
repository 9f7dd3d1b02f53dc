"""Where a hand shall be, from moves of it: a keyboard's, a gamepad's."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from yardarm.control.processing.arm_joints import GRIPPER, ArmJoints
from yardarm.control.processing.ee import ee_values
from yardarm.control.processing.hand_limits import HandLimits
from yardarm.control.processing.options import EeOptions
from yardarm.robots import Reading
from yardarm.robots.kinematics import Kinematics, Matrix

__all__ = ["DELTAS", "GRIPPER_MOVE", "DeltasToEe"]

DELTAS = ("delta_x", "delta_y", "delta_z")
GRIPPER_MOVE, STAY = "gripper", 1.0
LONGEST_TURN_S = 0.1
"""A loop that hangs does not make up for it."""
UP, NEARLY = (0.0, 0.0, 1.0), 0.999
NEAR_M = 0.02


class DeltasToEe:
    """The goal of a hand. It starts where the hand is, moves as asked, and stays while nothing is asked.

    It is not read again from the arm: an arm that sags a little would sink with every turn.
    """

    def __init__(self, kinematics: Kinematics, joints: ArmJoints, options: EeOptions) -> None:
        self._kinematics, self._joints, self._options = kinematics, joints, options
        self._limits = HandLimits(options)
        axis, place = kinematics.base_axis()
        self._turns_about = place if abs(axis @ UP) > NEARLY else None
        self.reset()

    def reset(self) -> None:
        """Start from where the arm is."""
        self._reference: Matrix | None = None
        self._place = np.zeros(3)
        self._gripper: float | None = None
        self._is_moving = False
        self._last_s: float | None = None

    def __call__(self, asked: Mapping[str, float], reading: Reading) -> dict[str, float]:
        """The goal of this turn, by LeRobot's names."""
        present = self._kinematics.pose(self._joints.degrees(reading.values))
        hand = present[:3, 3]
        direction = np.array([float(asked[name]) for name in DELTAS])
        begins = bool(direction.any()) and not self._is_moving
        if self._reference is None or (begins and self._limits.are_far_apart(self._place, hand)):
            self._reference, self._place = present, hand
        self._is_moving = bool(direction.any())
        if self._is_moving:
            wanted = self._place + direction * self._step_sizes(reading.joints_s)
            self._place = self._limits.limited(wanted, self._place, hand)
        self._last_s = reading.joints_s
        gripper = self._gripper_goal(float(asked.get(GRIPPER_MOVE, STAY)), float(reading.values[GRIPPER]))
        return ee_values(self._turned(self._reference), gripper)

    def settle(self, reached: Matrix) -> None:
        """Go on from where the arm gets."""
        self._place = self._limits.settled(self._place, reached)

    def _step_sizes(self, now_s: float) -> Matrix:
        if self._options.step_sizes is not None:
            return np.array(self._options.step_sizes)
        passed_s = 0.0 if self._last_s is None else now_s - self._last_s
        return np.full(3, self._options.speed * min(max(passed_s, 0.0), LONGEST_TURN_S))

    def _turned(self, reference: Matrix) -> Matrix:
        """The goal as a pose: the hand turns with the arm, as an arm of five joints must."""
        pose = reference.copy()
        pose[:3, 3] = self._place
        if self._turns_about is not None:
            angle = _turned_by(reference[:2, 3] - self._turns_about[:2], self._place[:2] - self._turns_about[:2])
            c, s = math.cos(angle), math.sin(angle)
            pose[:3, :3] = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ pose[:3, :3]
        return pose

    def _gripper_goal(self, move: float, present: float) -> float:
        """Ahead of the gripper while it opens or closes, and then as it was: what it holds, it goes on squeezing."""
        if move != STAY:
            ahead = present + (move - STAY) * self._options.gripper_speed_factor
            self._gripper = min(max(ahead, 0.0), 100.0)
        elif self._gripper is None:
            self._gripper = present
        return self._gripper


def _turned_by(before: Matrix, after: Matrix) -> float:
    """By how many radians a point has gone round an axis; 0 where it is too near to the axis to say."""
    if min(np.linalg.norm(before), np.linalg.norm(after)) < NEAR_M:
        return 0.0
    return math.atan2(after[1], after[0]) - math.atan2(before[1], before[0])
