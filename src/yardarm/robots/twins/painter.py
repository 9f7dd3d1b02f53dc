"""Pictures of a twin, drawn in a process of their own: drawing is slow, and must not hold up the wire.

Painter.paint ──▶ a line of JSON (angles, camera) ──▶ the process draws ──▶ length, JPEG ──▶ Painter.paint returns
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import IO, Any, Protocol

from yardarm.errors import SetupError, one_line
from yardarm.robots.twins.arm_model import ArmModel, load_mujoco, model_for
from yardarm.robots.twins.twin import driver_of

__all__ = ["Painter", "Viewpoint"]

BACKENDS = ("egl", "osmesa")
READY = b"ready\n"
LOOK_AT = (0.14, 0.0, 0.125)
SKY, HORIZON = (0.87, 0.90, 0.93), (0.97, 0.97, 0.98)
LARGEST = (1280, 960)


@dataclass(frozen=True, slots=True)
class Viewpoint:
    """Where the picture is taken from, around the middle of the arm; angles in degrees, distance in metres."""

    azimuth: float = 140.0
    elevation: float = -20.0
    distance: float = 0.6
    width: int = 480
    height: int = 360

    @classmethod
    def from_values(cls, azimuth: float, elevation: float, distance: float, width: int) -> Viewpoint:
        """A camera that somebody turns by hand: no wilder than can be drawn."""
        width = min(max(width, 160), LARGEST[0])
        return cls(
            azimuth % 360,
            min(max(elevation, -89), 5),
            min(max(distance, 0.3), 2.0),
            width,
            min(width * 3 // 4, LARGEST[1]),
        )


class Painted(Protocol):
    """What can be drawn: a twin, or an arm whose angles are known."""

    type: str
    model: ArmModel

    def angles(self) -> list[float]:
        """All angles of its body, now."""


class Painter:
    """Draws an arm. It starts when the first picture is asked for."""

    def __init__(self, twin: Painted) -> None:
        self._twin = twin
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._problem = ""

    def paint(self, camera: Viewpoint = Viewpoint()) -> bytes:
        """A JPEG of the arm as it is now."""
        with self._lock:
            process = self._started()
            assert process.stdin is not None
            assert process.stdout is not None
            request = {"angles": self._twin.angles(), **asdict(camera)}
            try:
                process.stdin.write(json.dumps(request).encode() + b"\n")
                process.stdin.flush()
                size = int.from_bytes(_exactly(process.stdout, 4), "little")
                return _exactly(process.stdout, size)
            except (OSError, EOFError):
                self._problem = "the process that draws pictures has ended"
                raise SetupError(self._problem) from None

    def close(self) -> None:
        """End the process."""
        with self._lock:
            if self._process is not None:
                self._process.kill()
                self._process.wait()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._problem:
            raise SetupError(self._problem)
        if self._process is None:
            asked = os.environ.get("MUJOCO_GL")
            for backend in (asked,) if asked else BACKENDS:
                if self._start(backend):
                    break
            else:
                raise SetupError(self._problem)
        assert self._process is not None
        return self._process

    def _start(self, backend: str) -> bool:
        # One thread draws, and gives way to everybody else: the twin's clock comes first.
        own = {"MUJOCO_GL": backend, "PYOPENGL_PLATFORM": backend, "LP_NUM_THREADS": "1"}
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, self._twin.type, self._twin.model.kind],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **own},
            start_new_session=True,  # Ctrl-C is for the twin, which ends it
        )
        assert process.stdout is not None
        answer = process.stdout.readline()
        if answer == READY:
            self._process, self._problem = process, ""
            return True
        process.kill()
        process.wait()
        self._problem = f"pictures cannot be drawn: {answer.decode(errors='replace').strip() or 'OpenGL is missing'}"
        return False


def _exactly(stream: IO[bytes], size: int) -> bytes:
    content = stream.read(size)
    if len(content) < size:
        raise EOFError
    return content


def _draw_for_ever(type: str, kind: str) -> None:
    """What the process does: a picture for each line."""
    os.nice(10)
    out, requests = sys.stdout.buffer, sys.stdin.buffer
    try:
        easel = _Easel(type, kind)
        out.write(READY)
    except Exception as error:  # whatever OpenGL says goes to whoever wanted pictures
        out.write(one_line(error).encode() + b"\n")
        return
    out.flush()
    for line in requests:
        jpeg = easel.draw(**json.loads(line))
        out.write(len(jpeg).to_bytes(4, "little") + jpeg)
        out.flush()


class _Easel:
    """MuJoCo's renderer, with the arm on its table."""

    def __init__(self, type: str, kind: str) -> None:
        self._mujoco = mujoco = load_mujoco()
        driver = driver_of(type)
        model = model_for(driver.name, driver.motors, kind == "published")
        spec = model.spec(for_pictures=True)
        spec.add_texture(
            name="sky",
            type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
            builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
            rgb1=SKY,
            rgb2=HORIZON,
            width=64,
            height=64,
        )
        self._model = spec.compile()
        self._data = mujoco.MjData(self._model)
        self._renderer: Any = None
        self.draw([0.0] * self._model.nq, **asdict(Viewpoint(width=160, height=120)))

    def draw(
        self, angles: Sequence[float], azimuth: float, elevation: float, distance: float, width: int, height: int
    ) -> bytes:
        """A JPEG."""
        from PIL import Image

        mujoco = self._mujoco
        self._data.qpos[:] = angles
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        mujoco.mj_camlight(self._model, self._data)
        if self._renderer is None or (self._renderer.width, self._renderer.height) != (width, height):
            if self._renderer is not None:
                self._renderer.close()
            self._renderer = mujoco.Renderer(self._model, height, width)
        camera = mujoco.MjvCamera()
        camera.lookat[:] = LOOK_AT
        camera.azimuth, camera.elevation, camera.distance = azimuth, elevation, distance
        self._renderer.update_scene(self._data, camera)
        picture = io.BytesIO()
        Image.fromarray(self._renderer.render()).save(picture, "JPEG", quality=85)
        return picture.getvalue()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt, BrokenPipeError):
        _draw_for_ever(*sys.argv[1:])
