"""Pictures, videos and clocks for tests of cameras."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np

WIDTH, HEIGHT = 32, 24


def plain(level: int, width: int = WIDTH, height: int = HEIGHT) -> np.ndarray:
    """A picture of one grey."""
    return np.full((height, width, 3), level, np.uint8)


def write_video(path: Path, levels: list[int], fps: float = 30, width: int = WIDTH, height: int = HEIGHT) -> Path:
    """A video whose pictures are grey."""
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"mp4v"), fps, (width, height))
    for level in levels:
        writer.write(plain(level, width, height))
    writer.release()
    return path


def write_pictures(folder: Path, pictures: list[np.ndarray]) -> Path:
    """A folder of pictures, in order."""
    folder.mkdir(parents=True)
    for number, picture in enumerate(pictures):
        cv2.imwrite(str(folder / f"frame-{number}.png"), picture)
    return folder


def level_of(picture: np.ndarray) -> int:
    """The grey of a picture, as far as a video keeps it."""
    return round(float(picture.mean()))


class HandClock:
    """A clock that somebody moves by hand; it passes when somebody waits."""

    def __init__(self, now: float = 1000.0) -> None:
        self.time = now

    def now(self) -> float:
        return self.time

    def wait_until(self, seconds: float) -> None:
        self.time = max(self.time, seconds)


def wait_for(condition: Callable[[], Any], seconds: float = 30.0) -> Any:
    """Wait until something is so."""
    import time

    ends = time.monotonic() + seconds
    while not (outcome := condition()):
        assert time.monotonic() < ends, "it did not happen"
        time.sleep(0.01)
    return outcome
