"""Which cameras are plugged in, and what they can do."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yardarm.robots.cameras.opencv_library import load_opencv
from yardarm.robots.cameras.realsense import connected_realsenses

__all__ = ["FoundCamera", "PictureMode", "found_devices", "found_realsenses", "modes_of"]

DEVICES, STABLE_NAMES = Path("/dev"), Path("/dev/v4l/by-id")
# Where devices have no paths, as many numbers as LeRobot tries, or fewer.
INDICES = range(10)
SIZES = ((320, 240), (640, 480), (800, 600), (1280, 720), (1920, 1080))


@dataclass(frozen=True, slots=True)
class PictureMode:
    """A size and a rate that a camera accepts."""

    width: int
    height: int
    fps: float

    def __str__(self) -> str:
        return f"{self.width}×{self.height} at {self.fps:g}"


@dataclass(frozen=True, slots=True)
class FoundCamera:
    """A camera that is plugged in."""

    type: str
    source: str
    """Its path, number or serial number, as the type's option wants it."""
    about: str
    """Its name, or a name that stays the same after the next start; empty if it has none."""
    modes: tuple[PictureMode, ...] = ()
    problem: str = ""
    """Why it cannot be used; empty if it can."""


def found_devices() -> list[FoundCamera]:
    """Cameras that OpenCV can open. A camera often has a second device that gives no pictures: it is left out."""
    found = [_device(source) for source in _sources()]
    return [camera for camera in found if camera is not None]


def found_realsenses() -> list[FoundCamera]:
    """RealSense cameras; `SetupError` if their SDK is missing."""
    return [FoundCamera("intelrealsense", serial, name) for serial, name in connected_realsenses().items()]


def modes_of(capture: Any) -> tuple[PictureMode, ...]:
    """The common sizes that an open capture of OpenCV accepts, each with the rate that it then has."""
    cv2 = load_opencv()
    modes = [_mode(capture, cv2)]
    for width, height in SIZES:
        capture.set(cv2.CAP_PROP_FRAME_WIDTH, width)
        capture.set(cv2.CAP_PROP_FRAME_HEIGHT, height)
        modes.append(_mode(capture, cv2))
    return tuple(dict.fromkeys(mode for mode in modes if mode.width and mode.height))


def _mode(capture: Any, cv2: Any) -> PictureMode:
    width, height = (round(capture.get(side)) for side in (cv2.CAP_PROP_FRAME_WIDTH, cv2.CAP_PROP_FRAME_HEIGHT))
    return PictureMode(width, height, float(capture.get(cv2.CAP_PROP_FPS)))


def _sources() -> Iterator[str]:
    if not sys.platform.startswith("linux"):
        yield from map(str, INDICES)
        return
    paths = [path for path in DEVICES.iterdir() if re.fullmatch(r"video\d+", path.name)]
    yield from map(str, sorted(paths, key=lambda path: int(path.name.removeprefix("video"))))


def _device(source: str) -> FoundCamera | None:
    is_path = not source.isdecimal()
    if is_path and not os.access(source, os.R_OK | os.W_OK):
        why = f"no permission for {source}: sudo usermod -aG video $USER, then log in again"
        return FoundCamera("opencv", source, _stable_name(source), problem=why)
    cv2 = load_opencv()
    capture = cv2.VideoCapture()
    try:
        if not capture.open(source if is_path else int(source), cv2.CAP_ANY) or not capture.read()[0]:
            return None
        return FoundCamera("opencv", source, _stable_name(source), modes_of(capture))
    finally:
        capture.release()


def _stable_name(path: str) -> str:
    """The name of a device that does not change with the next start, or with another port."""
    if not STABLE_NAMES.is_dir():
        return ""
    return next((str(link) for link in sorted(STABLE_NAMES.iterdir()) if os.path.realpath(link) == path), "")
