"""A cube to pick up, and a box to put it into."""

from __future__ import annotations

from typing import Any

from yardarm.robots.twins.scenes.scene import Scene

__all__ = ["CubeAndBox"]


class CubeAndBox(Scene):
    """The cube lies anywhere in reach of the arm; the box stands beside it."""

    name = "cube_and_box"
    cameras = ("front", "top", "wrist")

    def furnish(self, mujoco: Any, spec: Any) -> None:
        """Add cube, box, and cameras."""

    def place(self, model: Any, data: Any, seed: int) -> None:
        """Put the cube somewhere."""

    def success(self, model: Any, data: Any) -> bool:
        """Whether the cube is in the box."""
        return False
