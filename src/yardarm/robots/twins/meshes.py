"""Meshes with fewer triangles: the published arm has 400,000, which no processor draws 30 times a second."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["coarsen_meshes"]

# Corners that lie in one cell of this size become one.
CELL_M = 0.003
# A binary STL file: a header, the number of triangles, and for each a normal, three corners and two bytes.
HEADER = 84
TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])


def coarsen_meshes(spec: Any) -> None:
    """Replace the STL files of MuJoCo's description by coarser meshes of the same shape."""
    folder = Path(spec.modelfiledir) / spec.meshdir
    for mesh in spec.meshes:
        corners = np.frombuffer((folder / mesh.file).read_bytes(), TRIANGLE, offset=HEADER)["corners"]
        vertices, faces = _clustered(corners.reshape(-1, 3).astype(np.float64))
        mesh.name = mesh.name or Path(mesh.file).stem
        mesh.file = ""
        mesh.uservert, mesh.userface = vertices.flatten(), faces.flatten()


def _clustered(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The middles of the corners in each cell, and the triangles that still have three different ones."""
    cells = np.floor(corners / CELL_M).astype(np.int64)
    _, which, counts = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    which = which.reshape(-1)
    vertices = np.zeros((len(counts), 3))
    np.add.at(vertices, which, corners)
    vertices /= counts[:, None]
    faces = which.reshape(-1, 3)
    first, second, third = faces.T
    faces = faces[(first != second) & (second != third) & (third != first)]
    _, kept = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
    return vertices, faces[np.sort(kept)]
