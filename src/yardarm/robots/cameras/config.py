"""The options of every camera."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from yardarm.config import one_of, option
from yardarm.errors import UsageError

__all__ = ["BGR", "RGB", "CameraConfig"]

RGB, BGR = "rgb", "bgr"
TURNS = (0, 90, 180, -90)


@dataclass
class CameraConfig:
    """Flags of every camera; width and height are those of the pictures that it gives, after it has turned them."""

    type: ClassVar[str]
    """Its name among the types of cameras."""

    fps: float | None = option(None, "pictures per second")
    width: int | None = option(None, "of the picture, after it was turned")
    height: int | None = option(None, "of the picture, after it was turned")
    color_mode: str = option(RGB, "rgb or bgr: the order of the colours")
    rotation: int = option(0, "turn the picture clockwise: 0, 90, 180, or -90")
    warmup_s: float = option(1.0, "how long to let it adapt to the light before the first picture counts")

    def __post_init__(self) -> None:
        self.color_mode = str(getattr(self.color_mode, "value", self.color_mode)).lower()
        one_of("color_mode", self.color_mode, (RGB, BGR))
        self.rotation = self._turn()
        for name in ("fps", "width", "height"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise UsageError(f"{name} must be positive, got {value}")
        if (self.width is None) != (self.height is None):
            raise UsageError("width and height belong together; give both, or neither")
        if not 0 <= self.warmup_s < float("inf"):
            raise UsageError(f"warmup_s must not be negative, got {self.warmup_s}")

    def _turn(self) -> int:
        given = getattr(self.rotation, "value", self.rotation)
        turn = -90 if given == 270 else given  # what LeRobot calls it
        if turn not in TURNS:
            raise UsageError(f"rotation must be 0, 90, 180 or -90, got {given}")
        return int(turn)

    @property
    def source(self) -> str:
        """What it is plugged into: the part of its options that tells it from others of its type."""
        return ""

    @property
    def has_color(self) -> bool:
        """Whether it gives pictures in colour."""
        return True

    @property
    def has_depth(self) -> bool:
        """Whether it gives distances."""
        return False

    @property
    def device_size(self) -> tuple[int, int] | None:
        """Width and height before the picture is turned; None if any will do."""
        if self.width is None or self.height is None:
            return None
        return (self.height, self.width) if self.rotation in (90, -90) else (self.width, self.height)
