"""How a tick lies in the spool: numbers first, then a picture of each camera. All ticks have the same size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from yardarm.control import Tick
from yardarm.datasets import MeasuredTimes
from yardarm.errors import RobotFault
from yardarm.robots import Robot

__all__ = ["TickLayout"]

Buffer = bytes | memoryview


@dataclass(frozen=True, slots=True)
class TickLayout:
    """The names of a robot's numbers, and the shapes of its pictures."""

    state: tuple[str, ...]
    action: tuple[str, ...]
    cameras: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, robot: Robot) -> TickLayout:
        """The layout of what a robot observes and does."""
        seen = robot.observation_features
        return cls(
            tuple(name for name, kind in seen.items() if not isinstance(kind, tuple)),
            tuple(robot.action_features),
            {name: kind for name, kind in seen.items() if isinstance(kind, tuple)},
        )

    @property
    def numbers(self) -> np.dtype[np.void]:
        """The numbers of a tick."""
        times = [(name, "<f8") for name in ("due_s", "began_s", "joints_s", "sent_s")]
        return np.dtype(
            [
                ("tick", "<i8"),
                *times,
                ("state", "<f4", (len(self.state),)),
                ("action", "<f4", (len(self.action),)),
                ("asked", "<f4", (len(self.action),)),
                ("captured_s", "<f8", (len(self.cameras),)),
                ("number", "<i8", (len(self.cameras),)),
            ]
        )

    @property
    def size(self) -> int:
        """The bytes of a tick."""
        pictures = (np.prod(shape) * pixel_type(shape).itemsize for shape in self.cameras.values())
        return int(self.numbers.itemsize + sum(pictures))

    def pack(self, tick: Tick) -> list[Buffer]:
        """A tick as bytes; its pictures are not copied."""
        row, reading = np.zeros((), self.numbers), tick.reading
        row["tick"], row["due_s"], row["began_s"] = tick.index, tick.due_s, tick.began_s
        row["joints_s"], row["sent_s"] = reading.joints_s, tick.sent_s
        row["state"] = _numbers("observation", self.state, reading.values)
        row["action"] = _numbers("action that was sent", self.action, tick.sent)
        row["asked"] = _numbers("action that was asked for", self.action, tick.asked)
        pictures: list[Buffer] = []
        for place, (name, shape) in enumerate(self.cameras.items()):
            frame = reading.frames.get(name)
            if frame is None:
                raise RobotFault(f"the observation has no picture of the camera '{name}'")
            row["captured_s"][place], row["number"][place] = frame.captured_s, frame.number
            pictures.append(_pixels(name, shape, frame.picture))
        return [row.tobytes(), *pictures]

    def unpack(self, content: bytes | bytearray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """A tick's numbers, and its pictures by camera."""
        row = np.frombuffer(content, self.numbers, 1).copy()[0]  # the numbers are kept, and must not keep the pictures
        pictures, at = {}, self.numbers.itemsize
        for name, shape in self.cameras.items():
            kind, count = pixel_type(shape), int(np.prod(shape))
            pictures[name] = np.frombuffer(content, kind, count, at).reshape(shape)
            at += count * kind.itemsize
        return row, pictures

    def measured(self, rows: Sequence[np.ndarray]) -> MeasuredTimes:
        """The measured times of an episode's ticks."""
        table = np.array(rows, self.numbers)
        return MeasuredTimes(
            **{name: table[name] for name in ("tick", "due_s", "began_s", "joints_s", "sent_s", "asked")},
            asked_names=self.action,
            captured_s={name: table["captured_s"][:, place] for place, name in enumerate(self.cameras)},
            numbers={name: table["number"][:, place] for place, name in enumerate(self.cameras)},
        )

    def to_json(self) -> dict[str, Any]:
        """The layout as plain data."""
        cameras = {name: list(shape) for name, shape in self.cameras.items()}
        return {"state": list(self.state), "action": list(self.action), "cameras": cameras}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TickLayout:
        """The layout from plain data."""
        cameras = {name: tuple(shape) for name, shape in data["cameras"].items()}
        return cls(tuple(data["state"]), tuple(data["action"]), cameras)


def pixel_type(shape: Sequence[int]) -> np.dtype[Any]:
    """Depth maps have one channel, of 16 bits."""
    return np.dtype("<u2") if shape[-1] == 1 else np.dtype(np.uint8)


def _numbers(what: str, names: Sequence[str], values: Mapping[str, Any]) -> list[float]:
    try:
        return [values[name] for name in names]
    except KeyError as error:
        raise RobotFault(f"the {what} lacks {error}; it has {', '.join(values)}") from None


def _pixels(name: str, shape: tuple[int, ...], picture: np.ndarray) -> memoryview:
    if picture.shape != shape or picture.dtype != pixel_type(shape):
        raise RobotFault(
            f"the camera '{name}' gave a picture of {picture.shape} ({picture.dtype}), but it was set up for {shape}"
        )
    return np.ascontiguousarray(picture).data.cast("B")
