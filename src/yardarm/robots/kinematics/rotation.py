"""Rotations as matrices, and as vectors: an axis, as long as the angle in radians."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["about", "rotation_matrix", "rotation_vector"]

Matrix = np.ndarray[Any, np.dtype[np.float64]]
TINY = 1e-9


def about(axis: Matrix, radians: float) -> Matrix:
    """A rotation about an axis of length 1."""
    (x, y, z), s, c = axis.tolist(), math.sin(radians), math.cos(radians)
    d = 1 - c
    return np.array(
        [
            [c + x * x * d, x * y * d - z * s, x * z * d + y * s],
            [y * x * d + z * s, c + y * y * d, y * z * d - x * s],
            [z * x * d - y * s, z * y * d + x * s, c + z * z * d],
        ]
    )


def rotation_matrix(vector: Matrix) -> Matrix:
    """The matrix of a rotation vector."""
    angle = float(np.linalg.norm(vector))
    return np.eye(3) if angle < TINY else about(vector / angle, angle)


def rotation_vector(matrix: Matrix) -> Matrix:
    """The vector of a rotation, of at most half a turn.

    By way of the quaternion, which is exact near no turn and near half a turn, where matrices are not.
    """
    m = matrix.tolist()
    trace = m[0][0] + m[1][1] + m[2][2]
    largest = max(range(3), key=lambda axis: m[axis][axis])
    if trace > m[largest][largest]:
        w, x, y, z = 1 + trace, m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]
    else:
        i, j, k = largest, (largest + 1) % 3, (largest + 2) % 3
        parts = [0.0, 0.0, 0.0]
        parts[i], parts[j], parts[k] = 1 + 2 * m[i][i] - trace, m[j][i] + m[i][j], m[k][i] + m[i][k]
        w, (x, y, z) = m[k][j] - m[j][k], parts
    vector = np.array([x, y, z]) * (1.0 if w >= 0 else -1.0)
    length = float(np.linalg.norm(vector))
    if length < TINY * abs(w):
        return 2 * vector / w if w else vector
    return vector * (2 * math.atan2(length, abs(w)) / length)
