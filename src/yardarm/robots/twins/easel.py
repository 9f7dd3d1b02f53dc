"""The process that draws twins: a picture for each line that it reads.

a line of JSON ──▶ {"angles": […], "azimuth": …}  a JPEG from anywhere, for people
                   {"angles": […], "camera": …}   raw bytes of a camera of the scene, for robots
                        ──▶ length (4 bytes), content
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from yardarm.errors import one_line
from yardarm.robots.twins.arm_model import load_mujoco, model_for
from yardarm.robots.twins.meshes import picture_model
from yardarm.robots.twins.mounted_arm import driver_of

__all__: list[str] = []

# What `painter.py` waits for.
READY = b"ready\n"
LOOK_AT = (0.14, 0.0, 0.125)
# Each size has buffers of its own, of many megabytes.
MOST_SIZES = 4


class _Easel:
    """MuJoCo's renderer, with the arm on its table."""

    def __init__(self, type: str, kind: str, scene: str) -> None:
        self._mujoco = mujoco = load_mujoco()
        driver = driver_of(type)
        self._model = picture_model(model_for(driver.name, driver.motors, kind == "published", scene))
        self._data = mujoco.MjData(self._model)
        self._renderers: dict[tuple[int, int], Any] = {}
        self._draw(self._model.qpos0, 0, 160, 120)

    def answer(self, angles: Sequence[float], width: int, height: int, **view: Any) -> bytes:
        """A picture as bytes, of the kind that the request wants."""
        if "camera" in view:
            self._model.light_castshadow[:] = bool(view["shadows"])
            return bytes(self._draw(angles, view["camera"], width, height).tobytes())
        self._model.light_castshadow[:] = False
        camera = self._mujoco.MjvCamera()
        camera.lookat[:] = LOOK_AT
        camera.azimuth, camera.elevation, camera.distance = view["azimuth"], view["elevation"], view["distance"]
        return _jpeg(self._draw(angles, camera, width, height))

    def _draw(self, angles: Sequence[float], camera: Any, width: int, height: int) -> Any:
        mujoco = self._mujoco
        self._data.qpos[:] = angles
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        mujoco.mj_camlight(self._model, self._data)
        renderer = self._sized(width, height)
        renderer.update_scene(self._data, camera)
        return renderer.render()

    def _sized(self, width: int, height: int) -> Any:
        if (width, height) not in self._renderers:
            if len(self._renderers) == MOST_SIZES:
                self._renderers.pop(next(iter(self._renderers))).close()
            self._renderers[width, height] = self._mujoco.Renderer(self._model, height, width)
        return self._renderers[width, height]


def _jpeg(picture: Any) -> bytes:
    from PIL import Image

    content = io.BytesIO()
    Image.fromarray(picture).save(content, "JPEG", quality=85)
    return content.getvalue()


def _draw_for_ever(type: str, kind: str, scene: str, politeness: str) -> None:
    """What the process does."""
    os.nice(int(politeness))
    out, requests = sys.stdout.buffer, sys.stdin.buffer
    try:
        easel = _Easel(type, kind, scene)
        out.write(READY)
    except Exception as error:  # whatever OpenGL says goes to whoever wanted pictures
        out.write(one_line(error).encode() + b"\n")
        return
    out.flush()
    for line in requests:
        content = easel.answer(**json.loads(line))
        out.write(len(content).to_bytes(4, "little") + content)
        out.flush()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        _draw_for_ever(*sys.argv[1:])
