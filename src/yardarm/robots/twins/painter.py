"""Pictures of a twin, drawn in a process of their own: drawing is slow, and must not hold up the wire.

Painter.paint, or a `sim` camera ──▶ Drawing.draw ──▶ a line of JSON ──▶ `easel.py` draws ──▶ bytes ──▶ they return
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import IO, Any, Protocol

from yardarm.errors import SetupError
from yardarm.robots.twins.door import TwinSpec

__all__ = ["Drawing", "Painted", "Painter", "Viewpoint", "borrow_drawing", "return_drawing"]

BACKENDS = ("egl", "osmesa")
READY = b"ready\n"
EASEL = "yardarm.robots.twins.easel"
LARGEST = (1280, 960)
# How far drawing gives way to everything else on the machine, where nobody stands still for it.
POLITE = 10


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

    @property
    def about(self) -> TwinSpec:
        """What it is."""

    def angles(self) -> list[float]:
        """All angles of its body, now."""


class Painter:
    """Draws an arm for people. It starts when the first picture is asked for."""

    def __init__(self, twin: Painted) -> None:
        self._twin, self._drawing = twin, Drawing(twin.about, POLITE)

    def paint(self, view: Viewpoint = Viewpoint()) -> bytes:
        """A JPEG of the arm as it is now."""
        return self._drawing.draw({"angles": self._twin.angles(), **asdict(view)})

    def close(self) -> None:
        """End the process."""
        self._drawing.close()


class Drawing:
    """The process that draws twins of one kind, `easel.py`. It starts when the first picture is asked for."""

    def __init__(self, spec: TwinSpec, politeness: int) -> None:
        self._words = (spec.type, spec.kind, spec.scene, str(politeness))
        self._borrowers = 0
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._problem = ""

    def draw(self, request: Mapping[str, Any]) -> bytes:
        """What the process answers."""
        with self._lock:
            process = self._started()
            assert process.stdin is not None
            assert process.stdout is not None
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
        process = self._process
        if process is not None:
            process.kill()  # first: whoever waits for a picture holds the lock
        with self._lock:
            if self._process is not None:
                self._process.kill()
                self._process.wait()
                for pipe in (self._process.stdin, self._process.stdout):
                    with contextlib.suppress(OSError):  # a request that was not sent as a whole
                        pipe.close()  # type: ignore[union-attr]
                self._problem = "the process that draws pictures has been ended"

    @property
    def has_ended(self) -> bool:
        """Whether its process has ended, so that it will never draw again."""
        return bool(self._problem)

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
        # One thread draws: the twin's clock comes first.
        own = {"MUJOCO_GL": backend, "PYOPENGL_PLATFORM": backend, "LP_NUM_THREADS": "1"}
        process = subprocess.Popen(
            [sys.executable, "-m", EASEL, *self._words],
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


_SHARED: dict[tuple[str, ...], Drawing] = {}
_SHARING = threading.Lock()


def borrow_drawing(spec: TwinSpec) -> Drawing:
    """The process that all cameras of twins of one kind share: it takes seconds to start, and much memory."""
    # A twin in real time must not be held up by its pictures. One whose time waits stands still for them.
    new = Drawing(spec, POLITE if spec.is_real_time else 0)
    with _SHARING:
        drawing = _SHARED.setdefault(new._words, new)
        if drawing.has_ended:  # whoever still has that one returns it
            drawing = _SHARED[new._words] = new
        drawing._borrowers += 1
        return drawing


def return_drawing(drawing: Drawing) -> None:
    """End the process when nobody needs it any more."""
    with _SHARING:
        drawing._borrowers -= 1
        if drawing._borrowers == 0:
            if _SHARED.get(drawing._words) is drawing:
                del _SHARED[drawing._words]
            drawing.close()


def _exactly(stream: IO[bytes], size: int) -> bytes:
    content = stream.read(size)
    if len(content) < size:
        raise EOFError
    return content
