"""The whole way from what is asked of a hand to the joints of an arm.

asked: delta_x … gripper  ──▶ DeltasToEe ─┐
    or ee.x … ee.gripper_pos ─▶ BoundedEe ┴▶ ee.x … ee.gripper_pos ──▶ EeToJoints ──▶ shoulder_pan.pos …
                                   ▲                                       ▲
reading: where the arm is ─────────┴───────────────────────────────────────┘
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from yardarm.control.processing.deltas import DeltasToEe
from yardarm.control.processing.ee import BoundedEe, EeToJoints
from yardarm.errors import RobotFault
from yardarm.robots import Reading

__all__ = ["HandProcess"]


class HandProcess:
    """A goal for the hand, then joints for the goal."""

    def __init__(self, goal: DeltasToEe | BoundedEe, to_joints: EeToJoints) -> None:
        self._goal, self._to_joints = goal, to_joints

    def __call__(self, asked: Mapping[str, float], reading: Reading) -> dict[str, float]:
        """The robot's action."""
        for name, value in asked.items():
            if not math.isfinite(value):
                raise RobotFault(f"{name} is {value}, not a finite number; the hand was not moved")
        action = self._to_joints(self._goal(asked, reading), reading)
        self._goal.settle(self._to_joints.reached)
        return action

    def reset(self) -> None:
        """Start from where the arm is."""
        self._goal.reset()
        self._to_joints.reset()
