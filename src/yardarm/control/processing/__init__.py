"""Between a teleoperator and a robot with other names: moves of a hand become joints, and joints a hand's pose."""

from yardarm.control.processing.arm_joints import ArmJoints
from yardarm.control.processing.between import moves_a_hand, processor_between
from yardarm.control.processing.deltas import DeltasToEe
from yardarm.control.processing.ee import EE, BoundedEe, EeToJoints, JointsToEe
from yardarm.control.processing.hand_process import HandProcess
from yardarm.control.processing.options import EeOptions

__all__ = [
    "EE",
    "ArmJoints",
    "BoundedEe",
    "DeltasToEe",
    "EeOptions",
    "EeToJoints",
    "HandProcess",
    "JointsToEe",
    "moves_a_hand",
    "processor_between",
]
