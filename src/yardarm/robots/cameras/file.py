"""A video, or a folder of pictures, as a camera: played in real time, or as fast as a twin's clock passes."""

from __future__ import annotations

import re
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from yardarm.config import one_of, option
from yardarm.errors import CameraFault, UsageError
from yardarm.robots.cameras.camera import Camera
from yardarm.robots.cameras.config import CameraConfig
from yardarm.robots.cameras.opencv_library import load_opencv
from yardarm.robots.cameras.shots import Delivery, finished
from yardarm.robots.clock import HostClock

if TYPE_CHECKING:
    import numpy as np

__all__ = ["FileCamera", "FileCameraConfig"]

LOOP, HOLD = "loop", "hold"
PICTURES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp")


@dataclass
class FileCameraConfig(CameraConfig):
    """Flags of cameras of the type ``file``; without `fps`, a video's own rate is taken."""

    type: ClassVar[str] = "file"

    path: Path | None = option(None, "a video, or a folder of pictures that are shown in the order of their names")
    depth_path: Path | None = option(None, "a folder of 16-bit pictures: distances in millimetres")
    at_end: str = option(LOOP, "loop: begin again; hold: go on with the last picture")
    warmup_s: float = option(0.0, "a file needs none")

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("at_end", self.at_end, (LOOP, HOLD))
        if self.path is None and self.depth_path is None:
            raise UsageError("path is missing: a video, or a folder of pictures")
        self.path, self.depth_path = (Path(path) if path else None for path in (self.path, self.depth_path))

    @property
    def source(self) -> str:
        """The file."""
        return str(self.path or self.depth_path)

    @property
    def has_color(self) -> bool:
        """Whether there is a video, or pictures."""
        return self.path is not None

    @property
    def has_depth(self) -> bool:
        """Whether there are distances."""
        return self.depth_path is not None


class FileCamera(Camera):
    """Shows the picture whose turn it is, by the clock; those that nobody had time for are skipped, as by a camera."""

    config_class = FileCameraConfig

    _color: Reel | None = None
    _depth: Reel | None = None
    _began_s = 0.0
    _shown = -1
    _fps = 0.0

    @property
    def has_thread(self) -> bool:
        """A twin's clock passes when the loop waits: a thread would not know when."""
        return isinstance(self.clock, HostClock)

    def check_settings(self) -> None:
        """Look at the first picture: a file can be opened without anybody being disturbed."""
        try:
            self.open_device()
            color, depth = (self._advanced(reel, 0) for reel in (self._color, self._depth))
            finished(Delivery(color, depth), self.config, self.given_colors, 0, 0.0)
        finally:
            self.close_device()

    def open_device(self) -> None:
        """Open the files, and begin with the first picture."""
        config = self.config
        self._color = _reel(config.path) if config.path else None
        self._depth = _Folder(config.depth_path, is_depth=True) if config.depth_path else None
        self._fps = config.fps or (self._color.fps if self._color else 0.0)
        if not self._fps:
            raise CameraFault("its rate is not known; give fps")
        self._began_s, self._shown = self.clock.now(), -1

    def close_device(self) -> None:
        """Close the files."""
        for reel in (self._color, self._depth):
            if reel is not None:
                reel.close()
        self._color = self._depth = None

    def next_picture(self, stopping: threading.Event) -> Delivery | None:
        """Wait for the next picture's turn."""
        due = self._began_s + (self._shown + 1) / self._fps
        if stopping.wait(max(0.0, due - self.clock.now())):
            return None
        taken = self.picture_at(self.clock.now())
        return taken[1] if taken else None

    def picture_at(self, now: float) -> tuple[float, Delivery] | None:
        """The picture whose turn it is, if it was not shown yet."""
        turn = int((now - self._began_s) * self._fps + 1e-6)
        if turn <= self._shown:
            return None
        skipped, self._shown = turn - self._shown - 1, turn
        color, depth = (self._advanced(reel, skipped) for reel in (self._color, self._depth))
        return self._began_s + turn / self._fps, Delivery(color, depth)

    def _advanced(self, reel: Reel | None, skipped: int) -> np.ndarray | None:
        if reel is None:
            return None
        for _ in range(skipped):
            reel.next(self.config.at_end, is_shown=False)
        return reel.next(self.config.at_end)


class Reel(ABC):
    """Pictures one after the other; after the last one comes the first one, or the last one again."""

    fps = 0.0
    _last: np.ndarray | None = None

    def next(self, at_end: str, is_shown: bool = True) -> np.ndarray | None:
        """The next picture; one that is not shown need not be decoded."""
        if self._step():
            return self._picture() if is_shown else None
        if at_end == HOLD:
            return self._end()
        self._rewind()
        if not self._step():
            raise CameraFault("it has no picture that can be read")
        return self._picture() if is_shown else None

    @abstractmethod
    def _step(self) -> bool:
        """Go to the next picture, if there is one."""

    @abstractmethod
    def _picture(self) -> np.ndarray:
        """The picture at this place."""

    @abstractmethod
    def _end(self) -> np.ndarray:
        """The last picture."""

    @abstractmethod
    def _rewind(self) -> None:
        """Go before the first picture."""

    def close(self) -> None:  # noqa: B027 - a folder has nothing to close
        """Close what is open."""


class _Video(Reel):
    _capture: Any = None
    _passed = 0

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rewind()
        self.fps = float(self._capture.get(load_opencv().CAP_PROP_FPS))

    def _rewind(self) -> None:
        self.close()
        # A camera of the control loop must not take all cores for decoding.
        cv2 = load_opencv()
        self._capture = cv2.VideoCapture()
        if not self._capture.open(str(self._path), cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, 1]):
            raise CameraFault(f"{self._path} is no video that can be read; is it cut short?")
        self._last, self._passed = None, 0

    def _step(self) -> bool:
        if not self._capture.grab():
            return False
        self._last, self._passed = None, self._passed + 1
        return True

    def _picture(self) -> np.ndarray:
        is_there, picture = self._capture.retrieve()
        if not is_there:
            raise CameraFault(f"a picture of {self._path} cannot be decoded")
        self._last = picture
        return picture

    def _end(self) -> np.ndarray:
        if self._last is not None:
            return self._last
        passed = self._passed  # the last one was skipped, and a decoder does not go back
        self._rewind()
        for _ in range(passed):
            self._step()
        return self._picture()

    def close(self) -> None:
        """Close the file."""
        if self._capture is not None:
            self._capture.release()


class _Folder(Reel):
    def __init__(self, folder: Path, is_depth: bool = False) -> None:
        if not folder.is_dir():
            raise CameraFault(f"there is no folder {folder}")
        self._is_depth, self._at = is_depth, -1
        self._paths = sorted((path for path in folder.iterdir() if path.suffix.lower() in PICTURES), key=_by_number)
        if not self._paths:
            raise CameraFault(f"{folder} has no pictures ({', '.join(suffix[1:] for suffix in PICTURES)})")

    def _step(self) -> bool:
        if self._at + 1 >= len(self._paths):
            return False
        self._at += 1
        return True

    def _picture(self) -> np.ndarray:
        cv2, path = load_opencv(), self._paths[self._at]
        picture = cv2.imread(str(path), cv2.IMREAD_UNCHANGED if self._is_depth else cv2.IMREAD_COLOR)
        if picture is None:
            raise CameraFault(f"{path} cannot be read as a picture")
        if self._is_depth and (picture.dtype != "uint16" or picture.ndim != 2):
            raise CameraFault(f"{path} is not a picture of distances: it must have one channel of 16 bits")
        return picture

    def _end(self) -> np.ndarray:
        return self._picture()

    def _rewind(self) -> None:
        self._at = -1


def _reel(path: Path) -> Reel:
    if path.is_dir():
        return _Folder(path)
    if not path.is_file():
        raise CameraFault(f"there is no file or folder {path}")
    return _Video(path)


def _by_number(path: Path) -> list[tuple[int, str]]:
    """``frame-9`` before ``frame-10``."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", path.name)]
