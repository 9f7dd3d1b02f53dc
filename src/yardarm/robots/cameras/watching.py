"""Looking at a camera for a while: does it give what it should, how often, and what does it look like?"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yardarm.errors import UsageError, YardarmError
from yardarm.files import write_atomically
from yardarm.robots.cameras.camera import Camera
from yardarm.robots.cameras.config import RGB, CameraConfig
from yardarm.robots.cameras.opencv_library import load_opencv

if TYPE_CHECKING:
    import numpy as np

__all__ = ["CameraReport", "save_picture", "watch_camera"]

# A camera that gives fewer pictures than this share of what it promises is worth a word.
ENOUGH = 0.8


@dataclass(frozen=True, slots=True)
class CameraReport:
    """What a camera gave while somebody watched."""

    name: str
    type: str
    source: str
    width: int | None
    height: int | None
    fps: float | None
    """What it was asked for."""
    measured_fps: float | None
    problem: str
    """What is wrong, and what to do; empty if nothing is."""

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)


def watch_camera(camera: Camera, seconds: float) -> tuple[CameraReport, np.ndarray | None]:
    """Watch a camera that is not connected yet; its report, and its last picture."""
    try:
        with camera:
            first = camera.latest_shot()
            time.sleep(seconds)
            status, last = camera.status(), camera.latest_shot()
    except UsageError:
        raise  # such as a package that is missing
    except YardarmError as fault:
        return _report(camera, None, None, str(fault)), None
    frame = last.color or last.depth
    assert frame is not None
    rate = (last.number - first.number) / ((last.captured_s - first.captured_s) or seconds)
    problem = ""
    if status.is_stalled:
        problem = "it has stopped giving pictures"
    elif status.is_frozen:
        problem = "it gives the same picture again and again; unplug it, and plug it in again"
    elif camera.config.fps and rate < ENOUGH * camera.config.fps:
        problem = (
            f"it gives {rate:.0f} pictures a second, not {camera.config.fps:g}: dark scenes slow cameras down, and so "
            "do two of them on one USB hub; try fourcc MJPG, or a smaller picture"
        )
    return _report(camera, frame.picture, rate, problem), frame.picture


def save_picture(path: Path, picture: np.ndarray, config: CameraConfig) -> None:
    """Save a picture of a camera as PNG."""
    cv2 = load_opencv()
    path.parent.mkdir(parents=True, exist_ok=True)
    is_rgb = picture.shape[-1] == 3 and config.color_mode == RGB
    content = cv2.imencode(".png", cv2.cvtColor(picture, cv2.COLOR_RGB2BGR) if is_rgb else picture)[1].tobytes()
    write_atomically(path, lambda file: file.write(content))


def _report(camera: Camera, picture: np.ndarray | None, rate: float | None, problem: str) -> CameraReport:
    config = camera.config
    width, height = (config.width, config.height) if picture is None else (picture.shape[1], picture.shape[0])
    measured = None if rate is None else round(rate, 1)
    return CameraReport(camera.name, config.type, config.source, width, height, config.fps, measured, problem)
