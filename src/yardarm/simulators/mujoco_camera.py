"""Renders a MuJoCo model on demand, at any size; OpenGL is first used for the first picture."""

from __future__ import annotations

from collections.abc import Sequence

import mujoco
import numpy as np

__all__ = ["MujocoCamera"]


class MujocoCamera:
    """Renders one model's data. Only one OpenGL context exists at a time, because its buffers take 200 MB."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, hidden_groups: Sequence[int] = ()) -> None:
        self._model = model
        self._data = data
        self._options = mujoco.MjvOption()
        for group in hidden_groups:
            self._options.geomgroup[group] = 0
        self._renderer: mujoco.Renderer | None = None

    def render(self, camera: str, height: int, width: int) -> np.ndarray:
        """Return an RGB image (height, width, 3) of the current scene."""
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
