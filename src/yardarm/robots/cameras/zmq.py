"""Cameras of another machine, over ZMQ, as LeRobot's image servers publish them."""

from __future__ import annotations

import base64
import binascii
import json
import threading
from dataclasses import dataclass
from typing import Any, ClassVar

from yardarm.config import option
from yardarm.errors import CameraFault, SetupError, UsageError
from yardarm.robots.cameras.camera import Camera
from yardarm.robots.cameras.config import CameraConfig
from yardarm.robots.cameras.mjpeg import decoded
from yardarm.robots.cameras.shots import Delivery

__all__ = ["ZMQCamera", "ZMQCameraConfig"]

LARGEST_PORT = 65535
WAIT_MS = 200


@dataclass
class ZMQCameraConfig(CameraConfig):
    """Flags of cameras of the type ``zmq``; `color_mode` is what the server sends: nothing is converted."""

    type: ClassVar[str] = "zmq"

    server_address: str = option("", "the name or the number of the machine that publishes pictures")
    port: int = option(5555, "its port")
    camera_name: str = option("zmq_camera", "the name of the camera there")
    timeout_ms: int = option(5000, "how long to wait for a picture before the connection is made anew")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.server_address:
            raise UsageError("server_address is missing: the machine that publishes pictures")
        if not 0 < self.port <= LARGEST_PORT:
            raise UsageError(f"port must be 1 to {LARGEST_PORT}, got {self.port}")
        if self.timeout_ms <= 0:
            raise UsageError(f"timeout_ms must be positive, got {self.timeout_ms}")

    @property
    def source(self) -> str:
        """The server, and its camera."""
        return f"{self.camera_name} at {self.server_address}:{self.port}"


class ZMQCamera(Camera):
    """A camera that a server publishes, as JSON with JPEGs."""

    config_class = ZMQCameraConfig
    max_age_ms = 1000

    _socket: Any = None
    _stamp: Any = None

    @property
    def given_colors(self) -> str:  # type: ignore[override]
        """The server's arrays come as they were put in, whichever order they are in."""
        return str(self.config.color_mode)

    def check_settings(self) -> None:
        """The package is there."""
        _load_zmq()

    def open_device(self) -> None:
        """Subscribe; whether anybody publishes shows when the first picture comes."""
        zmq = _load_zmq()
        socket: Any = zmq.Context.instance().socket(zmq.SUB)
        socket.setsockopt(zmq.SUBSCRIBE, b"")
        socket.setsockopt(zmq.CONFLATE, 1)  # only the newest picture counts
        socket.setsockopt(zmq.LINGER, 0)
        try:
            socket.connect(f"tcp://{self.config.server_address}:{self.config.port}")
        except zmq.ZMQError as error:
            socket.close()
            raise CameraFault(f"{self.config.server_address}:{self.config.port} is no address: {error}") from None
        self._socket = socket

    def next_picture(self, stopping: threading.Event) -> Delivery | None:
        """Wait for the next message."""
        if self._socket is None:
            raise CameraFault("it is closed")
        for _ in range(max(1, self.config.timeout_ms // WAIT_MS)):
            if stopping.is_set():
                return None
            if self._socket.poll(WAIT_MS):
                # Not the server's own time: nobody has set its clock by this machine's.
                message, captured_s = self._socket.recv(), self.clock.now()
                return self._picture(message, captured_s)
        raise CameraFault(
            f"nothing comes from {self.config.server_address}:{self.config.port}; is the server running there?"
        )

    def close_device(self) -> None:
        """Unsubscribe."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _picture(self, message: bytes, captured_s: float) -> Delivery | None:
        name = self.config.camera_name
        try:
            content = json.loads(message)
            images, stamp = content["images"], content.get("timestamps", {}).get(name)
            if name not in images:
                raise CameraFault(f"the server has no camera '{name}'; it has {', '.join(images) or 'none'}")
            jpeg = base64.b64decode(images[name])
        except (ValueError, TypeError, KeyError, AttributeError, binascii.Error) as error:
            raise CameraFault(f"the server sends something else than pictures ({error!r})") from None
        if stamp is not None and stamp == self._stamp:
            return None  # the server repeats itself: that picture is not new
        picture = decoded(jpeg)
        self._stamp = stamp
        return Delivery(picture, captured_s=captured_s)


def _load_zmq() -> Any:
    try:
        import zmq
    except ImportError as error:
        raise SetupError(f"cameras of the type zmq need pyzmq ({error}): pip install 'yardarm[robots]'") from None
    return zmq
