"""What passes from a camera to whoever looks: deliveries of the device, shots with their times, and its status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from yardarm.errors import CameraFault
from yardarm.robots.cameras.config import CameraConfig
from yardarm.robots.reading import Frame

if TYPE_CHECKING:
    import numpy as np

__all__ = ["CameraStatus", "Delivery", "FreezeWatch", "Shot", "finished", "size_of"]

# A sensor's noise makes any two pictures differ.
FROZEN_S = 2.0
FROZEN_FRAMES = 10
SAMPLE = 16


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a device gave: bytes (height, width, 3), and 16-bit distances in millimetres (height, width)."""

    color: np.ndarray | None = None
    depth: np.ndarray | None = None
    captured_s: float | None = None
    """When it was taken, by the camera's clock, if the device knows."""


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture, and the distances that were measured with it."""

    number: int
    captured_s: float
    color: Frame | None
    depth: Frame | None


@dataclass(frozen=True, slots=True)
class CameraStatus:
    """How a camera is."""

    name: str
    is_stalled: bool
    """Whether pictures have stopped coming."""
    age_s: float | None
    """How old the newest picture is; None if there is none."""
    restarts: int
    """How often it was opened again because nothing came."""
    frames: int
    """How many pictures it has given."""
    is_frozen: bool = False
    """Whether it gives the same picture again and again."""


def finished(delivery: Delivery, config: CameraConfig, given: str, number: int, captured_s: float) -> Shot:
    """A device's picture as the user wants it: colours in order (`given` is the device's), turned, and checked."""
    color = depth = None
    if config.has_color:
        color = Frame(_turned(_colored(_checked(delivery.color, config), given, config), config), captured_s, number)
    if config.has_depth:
        distances = _turned(_checked(delivery.depth, config), config)
        depth = Frame(distances.reshape(*distances.shape[:2], 1), captured_s, number)
    return Shot(number, captured_s, color, depth)


def size_of(picture: np.ndarray) -> str:
    """Its width and height, in words."""
    return f"{picture.shape[1]}×{picture.shape[0]}"


def _checked(picture: np.ndarray | None, config: CameraConfig) -> np.ndarray:
    if picture is None:
        raise CameraFault("the picture is missing")
    if config.device_size and picture.shape[1::-1] != config.device_size:
        wanted = "×".join(map(str, config.device_size))
        turned = " before it is turned" if config.rotation in (90, -90) else ""
        raise CameraFault(f"it gives {size_of(picture)}, not {wanted}{turned} as asked for; set width and height to it")
    return picture


def _colored(picture: np.ndarray, given: str, config: CameraConfig) -> np.ndarray:
    import cv2

    if picture.ndim == 2:
        picture = cv2.cvtColor(picture, cv2.COLOR_GRAY2BGR)
    return picture if given == config.color_mode else cv2.cvtColor(picture, cv2.COLOR_BGR2RGB)


def _turned(picture: np.ndarray, config: CameraConfig) -> np.ndarray:
    import cv2

    if not config.rotation:
        return picture
    turns = {90: cv2.ROTATE_90_CLOCKWISE, 180: cv2.ROTATE_180, -90: cv2.ROTATE_90_COUNTERCLOCKWISE}
    return cv2.rotate(picture, turns[config.rotation])


class FreezeWatch:
    """Notices a device that gives the same picture for long."""

    def __init__(self) -> None:
        self._before: np.ndarray | None = None
        self._since_s = 0.0
        self._same = 0

    def look(self, delivery: Delivery, now: float) -> None:
        """Compare with the picture before."""
        picture = delivery.color if delivery.color is not None else delivery.depth
        if picture is None:
            return
        if self._before is not None and _are_same(self._before, picture):
            self._same += 1
        else:
            self._same, self._since_s = 0, now
        self._before = picture

    def is_frozen(self, now: float) -> bool:
        """Whether nothing has changed for long."""
        return self._same >= FROZEN_FRAMES and now - self._since_s >= FROZEN_S


def _are_same(one: np.ndarray, other: np.ndarray) -> bool:
    if one.shape != other.shape or (one[::SAMPLE, ::SAMPLE] != other[::SAMPLE, ::SAMPLE]).any():
        return False  # nearly always the answer, and cheap
    return bool((one == other).all())
