"""Cameras through OpenCV: devices, MJPEG over HTTP, RTSP."""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from dataclasses import dataclass
from typing import Any, ClassVar

from yardarm.config import option
from yardarm.errors import CameraFault, UsageError
from yardarm.robots.cameras.camera import Camera
from yardarm.robots.cameras.config import CameraConfig
from yardarm.robots.cameras.mjpeg import MjpegStream, decoded
from yardarm.robots.cameras.opencv_library import load_opencv
from yardarm.robots.cameras.shots import Delivery
from yardarm.robots.clock import HostClock

__all__ = ["OpenCVCamera", "OpenCVCameraConfig", "shown_address"]

log = logging.getLogger(__name__)

STREAM = re.compile(r"(https?|rtsps?|rtmps?|udp|tcp)://", re.IGNORECASE)
OPEN_MS, READ_MS = 4000, 2000
# Longer than a picture waits in a driver; what is older was told by another clock.
QUEUED_S = 5.0
ANY_BACKEND = "any"


@dataclass
class OpenCVCameraConfig(CameraConfig):
    """Flags of cameras of the type ``opencv``."""

    type: ClassVar[str] = "opencv"

    index_or_path: int | str = option(0, "the number or the path of a device, or an address: http://…, rtsp://…")
    fourcc: str | None = option(None, "the format in which the device sends pictures, such as MJPG or YUYV")
    backend: int | str = option(ANY_BACKEND, "what OpenCV reads it with: any, v4l2, ffmpeg, …, or OpenCV's number")

    def __post_init__(self) -> None:
        super().__post_init__()
        self.index_or_path = _index(self.index_or_path)
        if self.fourcc is not None and len(self.fourcc) != 4:
            raise UsageError(f"fourcc must have four characters, such as MJPG, got '{self.fourcc}'")
        if isinstance(self.backend, str) and self.backend.isdecimal():
            self.backend = int(self.backend)
        if not self.is_stream and isinstance(self.index_or_path, str) and os.path.isfile(self.index_or_path):
            raise UsageError(f"{self.index_or_path} is a file, not a camera; use type=file, path={self.index_or_path}")

    @property
    def is_stream(self) -> bool:
        """Whether it is an address on the network, whose size and rate cannot be chosen."""
        return isinstance(self.index_or_path, str) and bool(STREAM.match(self.index_or_path))

    @property
    def is_web(self) -> bool:
        """Whether the address is one of HTTP."""
        return self.is_stream and str(self.index_or_path).lower().startswith("http")

    @property
    def device_path(self) -> str:
        """The path of a device, where devices have one; empty: it is none, or has none."""
        if self.is_stream or not sys.platform.startswith("linux"):
            return ""
        return f"/dev/video{self.index_or_path}" if isinstance(self.index_or_path, int) else self.index_or_path

    @property
    def source(self) -> str:
        """The device or the address, without a password."""
        return shown_address(str(self.index_or_path))


def _index(given: Any) -> int | str:
    """A device's number, also if it was typed as text; negative ones mean nothing."""
    text = str(given)
    if not text or re.fullmatch(r"-\d+", text):
        raise UsageError(f"index_or_path must be a camera's number, path or address, got '{text}'")
    return int(text) if text.isdecimal() else text


def shown_address(address: str) -> str:
    """An address without its user and password."""
    return re.sub(r"(?<=://)[^/]*@", "", address)


class OpenCVCamera(Camera):
    """A device must accept size and rate exactly; of a stream, the size that comes is checked."""

    config_class = OpenCVCameraConfig

    _capture: Any = None
    _stream: MjpegStream | None = None

    def check_settings(self) -> None:
        """OpenCV and the backend are known, and the device is plugged in; an address is not tried."""
        _backend(self.config, load_opencv().CAP_ANY)
        path = self.config.device_path
        if path.startswith("/dev/") and not os.path.exists(path):
            raise CameraFault(self._why_closed())

    def open_device(self) -> None:
        """Open it, and set what was asked for."""
        cv2, config = load_opencv(), self.config
        if config.is_web and (stream := MjpegStream.open(config.index_or_path)) is not None:
            self._stream = stream
            return
        limits = [cv2.CAP_PROP_OPEN_TIMEOUT_MSEC, OPEN_MS, cv2.CAP_PROP_READ_TIMEOUT_MSEC, READ_MS]
        capture = cv2.VideoCapture()
        if config.is_stream:
            is_open = capture.open(config.index_or_path, _backend(config, cv2.CAP_FFMPEG), limits)
        else:
            is_open = capture.open(config.index_or_path, _backend(config, cv2.CAP_ANY))
        if not is_open:
            capture.release()
            raise CameraFault(self._why_closed())
        self._capture = capture
        try:
            self._check_stream() if config.is_stream else self._set_up()
        except CameraFault:
            self.close_device()
            raise

    def next_picture(self, stopping: threading.Event) -> Delivery | None:
        """Wait for the next picture."""
        if self._stream is not None:
            jpeg, captured_s = self._stream.newest(), self.clock.now()
            return Delivery(decoded(jpeg), captured_s=captured_s)
        if self._capture is None:
            raise CameraFault("it is closed")
        is_there, captured_s = self._capture.grab(), self._captured_s()
        is_there, picture = self._capture.retrieve() if is_there else (False, None)
        if not is_there or picture is None:
            raise CameraFault("it gives no picture")
        return Delivery(picture, captured_s=captured_s)

    def _captured_s(self) -> float:
        """When the picture was taken that was just grabbed: Linux knows it of devices; of others it is now."""
        now = self.clock.now()
        if self.config.is_stream or self._capture.getBackendName() != "V4L2" or not isinstance(self.clock, HostClock):
            return now
        told = self._capture.get(load_opencv().CAP_PROP_POS_MSEC) / 1000  # of the machine's monotonic clock
        return told if now - QUEUED_S <= told <= now else now

    def close_device(self) -> None:
        """Let go of the device."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        if self._capture is not None:
            self._capture.release()
            self._capture = None

    def _why_closed(self) -> str:
        config = self.config
        if config.is_stream:
            return "nothing answers there, or it is no video; open the address in a browser to see what is wrong"
        path = config.device_path
        if path.startswith("/dev/") and os.path.exists(path):
            if not os.access(path, os.R_OK | os.W_OK):
                return f"no permission for {path}: sudo usermod -aG video $USER, then log in again"
            return f"{path} is there but cannot be used; is another program using it?"
        return "there is no such camera; `yardarm find-cameras` lists what there is"

    def _check_stream(self) -> None:
        """The size that comes; the rate that OpenCV tells of a stream is made up."""
        size, wanted = self._device_size(), self.config.device_size
        if wanted and all(size) and size != wanted:
            raise CameraFault(f"asked for {_times(wanted)}, it sends {_times(size)}; set width and height to that")

    def _set_up(self) -> None:
        cv2, config, capture = load_opencv(), self.config, self._capture
        if config.fourcc:  # first: it decides which sizes and rates there are
            capture.set(cv2.CAP_PROP_FOURCC, cv2.VideoWriter.fourcc(*config.fourcc))
        if config.device_size:
            capture.set(cv2.CAP_PROP_FRAME_WIDTH, config.device_size[0])
            capture.set(cv2.CAP_PROP_FRAME_HEIGHT, config.device_size[1])
        if config.fps:
            capture.set(cv2.CAP_PROP_FPS, config.fps)
        size, fps = self._device_size(), float(capture.get(cv2.CAP_PROP_FPS))
        what_to_do = "`yardarm find-cameras` lists what it can do"
        if config.device_size and size != config.device_size:
            raise CameraFault(f"asked for {_times(config.device_size)}, it answers {_times(size)}; {what_to_do}")
        if config.fps and abs(fps - config.fps) > 0.01 * config.fps:
            raise CameraFault(f"asked for {config.fps:g} pictures a second, it answers {fps:g}; {what_to_do}")
        if config.fourcc and (found := format_of(capture, cv2)) != config.fourcc:
            log.warning("%s was asked for %s, and sends %s", self, config.fourcc, found)

    def _device_size(self) -> tuple[int, int]:
        cv2, capture = load_opencv(), self._capture
        return round(capture.get(cv2.CAP_PROP_FRAME_WIDTH)), round(capture.get(cv2.CAP_PROP_FRAME_HEIGHT))


def format_of(capture: Any, cv2: Any) -> str:
    """The four letters of the format in which a device sends."""
    number = int(capture.get(cv2.CAP_PROP_FOURCC))
    return "".join(chr(number >> shift & 0xFF) for shift in (0, 8, 16, 24)).strip("\0")


def _backend(config: OpenCVCameraConfig, usual: int) -> int:
    """OpenCV's number of a backend, as the user named it."""
    cv2 = load_opencv()
    if config.backend in (ANY_BACKEND, cv2.CAP_ANY):
        return usual
    if isinstance(config.backend, int):
        return config.backend
    number = getattr(cv2, f"CAP_{config.backend.upper()}", None)
    if not isinstance(number, int):
        raise UsageError(f"backend '{config.backend}' is unknown to OpenCV; use any, v4l2, ffmpeg, or its number")
    return number


def _times(size: tuple[int, int]) -> str:
    return f"{size[0]}×{size[1]}"
