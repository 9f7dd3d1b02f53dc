"""Arms for pictures, with few triangles: the published one has 400,000, too many for a processor to draw often."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from yardarm.robots.twins.arm_model import ArmModel, load_mujoco

__all__ = ["picture_model"]

SKY, HORIZON = (0.87, 0.90, 0.93), (0.97, 0.97, 0.98)
# Corners that lie in one cell of this size become one.
CELL_M = 0.003
# A binary STL file: a header, the number of triangles, and for each a normal, three corners and two bytes.
HEADER = 84
TRIANGLE = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])


def picture_model(arm: ArmModel) -> Any:
    """MuJoCo's model of an arm with its looks, and a sky."""
    mujoco = load_mujoco()
    spec = arm.spec(for_pictures=True)
    _coarsen_meshes(spec)
    spec.add_texture(
        name="sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=SKY,
        rgb2=HORIZON,
        width=64,
        height=64,
    )
    return spec.compile()


def _coarsen_meshes(spec: Any) -> None:
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
    cells = np.floor((corners - corners.min(axis=0)) / CELL_M).astype(np.int64)
    _, which, counts = np.unique(_numbered(cells), return_inverse=True, return_counts=True)
    vertices = np.zeros((len(counts), 3))
    np.add.at(vertices, which, corners)
    vertices /= counts[:, None]
    faces = which.reshape(-1, 3)
    first, second, third = faces.T
    faces = faces[(first != second) & (second != third) & (third != first)]
    _, kept = np.unique(_numbered(np.sort(faces, axis=1)), return_index=True)
    return vertices, faces[np.sort(kept)]


def _numbered(triples: np.ndarray) -> np.ndarray:
    """One number for each three; numbers are sorted much faster than rows."""
    size = int(triples.max()) + 1
    return np.asarray((triples[:, 0] * size + triples[:, 1]) * size + triples[:, 2])
