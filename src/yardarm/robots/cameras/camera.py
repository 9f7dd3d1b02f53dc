"""What a camera is: it is connected, and gives pictures, each with the time of its capture."""

from __future__ import annotations

import atexit
import contextlib
import threading
import time
from abc import ABC, abstractmethod
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Self

from yardarm.errors import AlreadyConnected, CameraFault, NoFrameYet, NotConnected, StaleFrame, UsageError
from yardarm.robots.cameras.config import BGR, CameraConfig
from yardarm.robots.cameras.feeds import Feed, SteppedFeed, ThreadFeed
from yardarm.robots.cameras.shots import CameraStatus, Delivery, Shot
from yardarm.robots.clock import Clock, HostClock
from yardarm.robots.reading import Frame

if TYPE_CHECKING:
    import numpy as np

__all__ = ["DEPTH", "Camera"]

DEPTH = "_depth"
"""What the name of a camera's distances ends with."""
# How long a healthy camera may take for its first picture, and for the next one.
FIRST_S = 5.0
NEXT_S = 10.0


class Camera(ABC):
    """A camera. `read`, `async_read` and `read_latest` are LeRobot's; `latest` and `status` tell what they do not.

    A type of camera says how its device is opened, read and closed.
    """

    config_class: ClassVar[type[CameraConfig]]
    given_colors: ClassVar[str] = BGR
    """The order of colours in which the device gives them."""
    max_age_ms: ClassVar[int] = 500
    """How old a picture may be that is called the latest."""
    has_noise: ClassVar[bool] = True
    """Whether no two of its pictures are the same, so that one that comes again and again is a fault."""
    stall_s: ClassVar[float] = 0.5
    """How long it may give nothing, without a failure, until it is called stalled."""
    when_slow: ClassVar[str] = "ask for a smaller picture, or for fewer: a lower fps"
    """What to do if it gives pictures, but slowly."""

    def __init__(self, config: Any, *, name: str = "", clock: Clock | None = None) -> None:
        self.config = config
        self.name = name or config.type
        self.clock: Clock = clock or HostClock()
        self._feed: Feed | None = None
        self._taken = -1

    def belongs_to(self, port: str) -> None:  # noqa: B027 - only a twin's camera needs it
        """Know the port of the robot that it is on."""

    # A type's own. The first three are called by one thread only, and raise CameraFault.

    def check_settings(self) -> None:  # noqa: B027 - not every type can tell
        """Raise if it is clear, without the device, that it cannot be opened: a file or a package is missing."""

    @abstractmethod
    def open_device(self) -> None:
        """Open the device, or raise: with what was asked for, what it answered, and what to do."""

    def next_picture(self, stopping: threading.Event) -> Delivery | None:
        """Wait for the device's next picture; None if there is none yet."""
        raise NotImplementedError

    @abstractmethod
    def close_device(self) -> None:
        """Close the device; one that is closed is left alone."""

    def picture_at(self, now: float) -> tuple[float, Delivery] | None:
        """What a camera without a thread sees now, and since when; None if nothing is new."""
        raise NotImplementedError

    @property
    def has_thread(self) -> bool:
        """Whether pictures come by themselves, so that a thread must read them."""
        return True

    # Its life.

    def check(self) -> None:
        """Raise `UsageError` if it cannot be opened, as far as that is clear before anything is connected."""
        try:
            self.check_settings()
        except CameraFault as fault:
            raise UsageError(f"{self} cannot be opened: {fault}") from None

    @property
    def is_connected(self) -> bool:
        """Whether it can be read."""
        return self._feed is not None

    def connect(self, warmup: bool = True) -> None:
        """Open it, and wait for its first picture and until it has adapted to the light, unless told otherwise."""
        if self.is_connected:
            raise AlreadyConnected(f"{self} is already connected")
        began = time.monotonic()
        try:
            self._feed = ThreadFeed(self) if self.has_thread else SteppedFeed(self)
        except CameraFault as fault:
            raise CameraFault(f"{self} cannot be opened: {fault}") from None
        self._taken = -1
        atexit.register(self._leave)
        if not warmup:
            return
        try:
            self._warm_up(began)
        except BaseException:
            self._leave()
            raise

    def _warm_up(self, began: float) -> None:
        feed = self._connected()
        if feed.after(0, max(FIRST_S, self.config.warmup_s)) is None:
            why = feed.problem or "it was opened, but gives no picture; is another program using it?"
            raise CameraFault(f"{self} cannot be used: {why}")
        if self.has_thread:
            time.sleep(max(0.0, began + self.config.warmup_s - time.monotonic()))

    def disconnect(self) -> None:
        """Close it."""
        self._connected()
        self._leave()

    def _leave(self) -> None:
        feed, self._feed = self._feed, None
        atexit.unregister(self._leave)
        if feed is not None:
            feed.stop()

    def _connected(self) -> Feed:
        if self._feed is None:
            raise NotConnected(f"{self} is not connected; call connect() first")
        return self._feed

    # Its pictures.

    def latest(self) -> Frame:
        """The newest picture with its time, at once, however old it is."""
        return _color(self, self.latest_shot())

    def latest_depth(self) -> Frame:
        """The newest distances with their time, at once, however old they are."""
        return _depth(self, self.latest_shot())

    def latest_shot(self) -> Shot:
        """The newest picture and distances, which belong together."""
        shot = self._connected().newest()
        if shot is None:
            raise NoFrameYet(f"{self} has not given a picture yet")
        return shot

    def status(self) -> CameraStatus:
        """How it is."""
        return self._connected().status()

    def read(self) -> np.ndarray:
        """Wait for the next picture."""
        feed = self._connected()
        before = feed.newest()
        return self._take(self._after(0 if before is None else before.number + 1, NEXT_S))

    def async_read(self, timeout_ms: float = 200) -> np.ndarray:
        """The newest picture that was not taken yet; waits for one, but not for long."""
        return self._take(self._after(self._taken + 1, timeout_ms / 1000))

    def read_latest(self, max_age_ms: float | None = None) -> np.ndarray:
        """The newest picture, at once; `StaleFrame`, a `TimeoutError`, if it is older than 500 ms."""
        return self.require_fresh(self.latest(), max_age_ms).picture

    def read_depth(self) -> np.ndarray:
        """Wait for the next distances."""
        before = self._connected().newest()
        return _depth(self, self._after(0 if before is None else before.number + 1, NEXT_S)).picture

    def require_fresh(self, frame: Frame, max_age_ms: float | None = None) -> Frame:
        """The frame, or `StaleFrame` if it is too old to be called the latest."""
        limit, age = self.max_age_ms if max_age_ms is None else max_age_ms, self.clock.now() - frame.captured_s
        if age * 1000 > limit:
            raise StaleFrame(f"{self}: its newest picture is {age * 1000:.0f} ms old, more than {limit:g} ms")
        return frame

    def _after(self, number: int, timeout_s: float) -> Shot:
        feed = self._connected()
        shot = feed.after(number, timeout_s)
        if shot is None:
            age = feed.status().age_s
            had = "it has given none yet" if age is None else f"its newest is {age * 1000:.0f} ms old"
            why = f" ({feed.problem})" if feed.problem else ""
            raise StaleFrame(f"{self}: no new picture within {timeout_s * 1000:.0f} ms; {had}{why}")
        return shot

    def _take(self, shot: Shot) -> np.ndarray:
        self._taken = max(self._taken, shot.number)
        return _color(self, shot).picture

    # What a robot's observations get from it.

    def features(self) -> dict[str, type | tuple[int, ...]]:
        """The shapes of what it gives, under its name; known before it is connected."""
        size = (self.config.height, self.config.width)
        color = {self.name: (*size, 3)} if self.config.has_color else {}
        depth = {f"{self.name}{DEPTH}": (*size, 1)} if self.config.has_depth else {}
        return {**color, **depth}

    def frames(self) -> dict[str, Frame]:
        """The newest it has given, under the same names."""
        shot = self.latest_shot()
        both = {self.name: shot.color, f"{self.name}{DEPTH}": shot.depth}
        return {name: frame for name, frame in both.items() if frame is not None}

    def __str__(self) -> str:
        source = f" {self.config.source}" if self.config.source else ""
        return f"camera '{self.name}' ({self.config.type}{source})"

    def __enter__(self) -> Self:
        self.connect()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(NotConnected):  # it was disconnected inside of the block
            self.disconnect()


def _color(camera: Camera, shot: Shot) -> Frame:
    if shot.color is None:
        raise CameraFault(f"{camera} gives distances only; use read_depth() or latest_depth()")
    return shot.color


def _depth(camera: Camera, shot: Shot) -> Frame:
    if shot.depth is None:
        raise CameraFault(f"{camera} gives no distances; was it asked for them?")
    return shot.depth
