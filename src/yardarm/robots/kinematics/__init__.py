"""Where an arm's hand is, given its joints, and which joints bring it to a pose. Needs numpy."""

from yardarm.robots.kinematics.arms import HAND, hand_of
from yardarm.robots.kinematics.chain import Joint, Kinematics, Matrix
from yardarm.robots.kinematics.rotation import rotation_matrix, rotation_vector
from yardarm.robots.kinematics.solver import HandSolver, Solution
from yardarm.robots.kinematics.urdf import read_urdf

__all__ = [
    "HAND",
    "HandSolver",
    "Joint",
    "Kinematics",
    "Matrix",
    "Solution",
    "hand_of",
    "read_urdf",
    "rotation_matrix",
    "rotation_vector",
]
