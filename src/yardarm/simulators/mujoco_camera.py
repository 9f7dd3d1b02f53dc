"""Renders a MuJoCo model on demand, at any size; touches OpenGL on the first picture only."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

__all__ = ["MujocoCamera"]


class MujocoCamera:
    """Pictures of one model's data. One OpenGL context is alive at a time: its buffers are 200 MB of memory."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, hidden_groups: Sequence[int] = ()) -> None:
        self._model = model
        self._data = data
        self._options = mujoco.MjvOption()
        for group in hidden_groups:
            self._options.geomgroup[group] = 0
        self._renderer: mujoco.Renderer | None = None

    def render(self, camera: str, height: int, width: int) -> np.ndarray:
        """Return an RGB image (height, width, 3) of the scene as it is now."""
        renderer = self._sized(height, width)
        renderer.update_scene(self._data, camera, self._options)
        return renderer.render()

    def close(self) -> None:
        """Free the OpenGL context."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def _sized(self, height: int, width: int) -> mujoco.Renderer:
        if self._renderer is not None and (self._renderer.height, self._renderer.width) != (height, width):
            self.close()
        if self._renderer is None:
            buffer = self._model.vis.global_
            buffer.offheight = max(buffer.offheight, height)
            buffer.offwidth = max(buffer.offwidth, width)
            self._renderer = mujoco.Renderer(self._model, height, width)
        return self._renderer
