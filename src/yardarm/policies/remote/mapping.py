"""What a server is sent, made of what the environment shows; and its actions, made into the environment's.

Both are plain data, so that a configuration file can hold them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from yardarm.errors import UsageError, nearest
from yardarm.tasks import Feature

__all__ = ["INSTRUCTION", "ActionMapping", "ObservationMapping"]

# The source of an entry that is the task in words.
INSTRUCTION = "instruction"
OPTIONS = ("from", "rotate", "resize", "pad", "channels_first", "dtype")
PART = re.compile(r"^(?P<name>[^\[\] ]+)(\[(?P<start>\d*):(?P<stop>\d*)\])?( as (?P<form>\w+))?$")


@dataclass(frozen=True, slots=True)
class Part:
    """An input of the environment's, or some of its numbers."""

    name: str
    start: int | None = None
    stop: int | None = None
    form: str | None = None
    """What a rotation, an axis-angle of three numbers, is sent as."""

    @classmethod
    def parse(cls, text: str, where: str) -> Part:
        """Read ``name``, ``name[start:stop]``, or ``name[start:stop] as form``."""
        match = PART.match(text)
        if match is None:
            raise UsageError(
                f"{where}: '{text}' is no source; e.g. observation.state, observation.state[0:3], or "
                "observation.state[3:6] as quat_xyzw"
            )
        if match["form"] and match["form"] not in FORMS:
            raise UsageError(
                f"{where}: unknown form '{match['form']}'{nearest(match['form'], FORMS)} one of {', '.join(FORMS)}"
            )
        start, stop = (int(match[side]) if match[side] else None for side in ("start", "stop"))
        return cls(match["name"], start, stop, match["form"])

    def read(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        value = values[self.name]
        if self.start is not None or self.stop is not None:
            value = value[self.start : self.stop]
        return FORMS[self.form](value) if self.form else value


@dataclass(frozen=True, slots=True)
class Entry:
    """One value that the server gets."""

    parts: tuple[Part, ...]
    rotate: int = 0
    """Degrees, counter-clockwise."""
    size: tuple[int, int] | None = None
    """Height and width that an image is resized to."""
    pad: bool = True
    """Whether an image of other proportions gets black borders, or is stretched."""
    channels_first: bool = False
    dtype: str | None = None

    @classmethod
    def parse(cls, data: Mapping[str, Any] | str | list[str], where: str) -> Entry:
        """Read an entry: a source's name, a list of them, or a map with options."""
        data = data if isinstance(data, Mapping) else {"from": data}
        for option in data:
            if option not in OPTIONS:
                raise UsageError(
                    f"{where} has no option '{option}'{nearest(str(option), OPTIONS)} {', '.join(OPTIONS)}"
                )
        sources = data["from"] if isinstance(data["from"], list) else [data["from"]]
        parts = tuple(Part.parse(str(source), where) for source in sources)
        rotate, size = data.get("rotate", 0), data.get("resize")
        if rotate not in (0, 90, 180, 270):
            raise UsageError(f"{where}: rotate must be 0, 90, 180 or 270, not {rotate}")
        if size is not None and not (isinstance(size, list | tuple) and len(size) == 2 and min(size) > 0):
            raise UsageError(f"{where}: resize must be [height, width], not {size}")
        dtype = data.get("dtype")
        if dtype is not None and dtype not in ("float32", "float64", "uint8"):
            raise UsageError(f"{where}: dtype must be float32, float64 or uint8, not {dtype}")
        flags = bool(data.get("pad", True)), bool(data.get("channels_first", False))
        return cls(parts, rotate, tuple(size) if size else None, *flags, dtype)

    def make(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """The value to send."""
        read = [part.read(values) for part in self.parts]
        value = read[0] if len(read) == 1 else np.concatenate(read)
        if value.ndim == 3:
            value = np.rot90(value, self.rotate // 90) if self.rotate else value
            value = value if self.size is None else _resized(value, self.size, self.pad)
            value = value.transpose(2, 0, 1) if self.channels_first else value
        return np.ascontiguousarray(value, dtype=self.dtype)


class ObservationMapping:
    """Names, possibly nested, to what is sent under them."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        if not isinstance(data, Mapping) or not data:
            raise UsageError("--policy.observations must map the server's names to the environment's inputs")
        self.data = data
        self._entries = {path: Entry.parse(entry, _flag(path)) for path, entry in _leaves(data)}

    @property
    def inputs(self) -> tuple[str, ...]:
        """What it reads of the environment."""
        names = [part.name for entry in self._entries.values() for part in entry.parts]
        return tuple(dict.fromkeys(name for name in names if name != INSTRUCTION))

    def check(self, features: Mapping[str, Feature]) -> None:
        """Refuse numbers that an environment's inputs do not have."""
        for path, entry in self._entries.items():
            for part in entry.parts:
                shape = features[part.name].shape if part.name in features else ()
                last = max(part.start + 1 if part.start is not None else 0, part.stop or 0)
                if len(shape) == 1 and last > shape[0]:
                    asked = f"[{'' if part.start is None else part.start}:{'' if part.stop is None else part.stop}]"
                    raise UsageError(f"{_flag(path)}: {part.name} has {shape[0]} numbers, {asked} is beyond them")

    def apply(self, values: Mapping[str, np.ndarray], instruction: str) -> dict[str, Any]:
        """The observation that the server gets."""
        observation: dict[str, Any] = {}
        for path, entry in self._entries.items():
            place = observation
            for name in path[:-1]:
                place = place.setdefault(name, {})
            is_text = entry.parts[0].name == INSTRUCTION
            place[path[-1]] = instruction if is_text else entry.make(values)
        return observation


@dataclass(frozen=True, slots=True)
class ActionMapping:
    """From the server's actions to the environment's: some of the numbers, scaled, shifted, or only their signs."""

    take: tuple[int, ...] | None = None
    scale: Mapping[int, float] | None = None
    offset: Mapping[int, float] | None = None
    binary: tuple[int, ...] = ()
    """Axes that are brought to -1 or 1, after all else."""

    @classmethod
    def parse(cls, data: Mapping[str, Any]) -> ActionMapping:
        """Read ``{"take": [0, 1, …] or "0:7", "scale": {axis: factor}, "offset": {axis: …}, "binary": [axis, …]}``."""
        where = "--policy.actions"
        if not isinstance(data, Mapping):
            raise UsageError(f"""{where} must be a map such as '{{"take": "0:7", "scale": {{6: -1}}}}', not {data}""")
        known = ("take", "scale", "offset", "binary")
        for option in data:
            if option not in known:
                raise UsageError(f"{where} has no option '{option}'{nearest(str(option), known)} {', '.join(known)}")
        try:
            take = data.get("take")
            if isinstance(take, str):
                start, stop = (int(text) for text in take.split(":"))
                take = range(start, stop)
            factors = [
                {int(axis): float(value) for axis, value in (data.get(name) or {}).items()}
                for name in ("scale", "offset")
            ]
            binary = tuple(int(axis) for axis in data.get("binary") or ())
            return cls(None if take is None else tuple(int(axis) for axis in take), factors[0], factors[1], binary)
        except (AttributeError, TypeError, ValueError) as error:
            raise UsageError(f"{where}={data} does not fit: {error}") from error

    def apply(self, actions: np.ndarray) -> np.ndarray:
        """The environment's actions."""
        given = actions.shape[1]
        try:
            actions = np.array(actions if self.take is None else actions[:, list(self.take)])
            for axis, factor in (self.scale or {}).items():
                actions[:, axis] *= factor
            for axis, shift in (self.offset or {}).items():
                actions[:, axis] += shift
            for axis in self.binary:
                actions[:, axis] = np.where(actions[:, axis] < 0, -1.0, 1.0)
        except IndexError:
            kept = f"{given} numbers" if self.take is None else f"{given} numbers, of which {len(self.take)} are taken"
            raise UsageError(f"--policy.actions names an axis too many: the server's actions have {kept}") from None
        return actions


def _leaves(data: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Entries and where they are; a map without ``from`` is a level of its own."""
    for name, value in data.items():
        here = (*path, str(name))
        if isinstance(value, Mapping) and "from" not in value and set(value) & set(OPTIONS):
            raise UsageError(f"{_flag(here)} has no 'from', which says what is sent")
        if isinstance(value, Mapping) and "from" not in value:
            if not value:
                raise UsageError(f"{_flag(here)} is empty: give its source, e.g. {{from: observation.state}}")
            yield from _leaves(value, here)
        elif isinstance(value, str | list | Mapping):
            yield here, value
        else:
            raise UsageError(f"{_flag(here)} must be a source such as observation.state, not {value}")


def _flag(path: Sequence[str]) -> str:
    return f"--policy.observations: '{'/'.join(path)}'"


def _resized(image: np.ndarray, size: tuple[int, int], pad: bool) -> np.ndarray:
    """As openpi's clients do it: bilinear, sizes rounded down, the picture in the middle."""
    from PIL import Image

    height, width = size
    if image.shape[:2] == size:
        return image
    picture = Image.fromarray(np.ascontiguousarray(image))
    if not pad:
        return np.asarray(picture.resize((width, height), Image.Resampling.BILINEAR))
    ratio = max(picture.width / width, picture.height / height)
    fitting = (int(picture.width / ratio), int(picture.height / ratio))
    canvas = Image.new(picture.mode, (width, height), 0)
    corner = (max(0, (width - fitting[0]) // 2), max(0, (height - fitting[1]) // 2))
    canvas.paste(picture.resize(fitting, Image.Resampling.BILINEAR), corner)
    return np.asarray(canvas)


def _rotation(vector: np.ndarray) -> Any:
    from scipy.spatial.transform import Rotation

    if vector.shape != (3,):
        raise UsageError(f"--policy.observations: 'as …' is for a rotation of 3 numbers, not of shape {vector.shape}")
    return Rotation.from_rotvec(vector)


FORMS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "axis_angle": lambda vector: _rotation(vector).as_rotvec(),  # the angle is at most half a turn
    "euler_xyz": lambda vector: _rotation(vector).as_euler("xyz"),
    "quat_wxyz": lambda vector: np.roll(_rotation(vector).as_quat(canonical=True), 1),
    "quat_xyzw": lambda vector: _rotation(vector).as_quat(canonical=True),
    "rot6d": lambda vector: _rotation(vector).as_matrix()[:, :2].T.ravel(),
}
