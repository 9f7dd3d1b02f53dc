"""What moves a twin's joints from outside: timed positions, from a file or from a recording."""

from __future__ import annotations

import bisect
import csv
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yardarm.errors import UsageError, nearest

__all__ = ["Motion", "joint_name", "read_motion"]

TIME = "time"
EXAMPLE = '{"time": [0, 2], "shoulder_pan": [0, 45]}'


def joint_name(name: str) -> str:
    """A joint's name, also from the name of its position in actions: ``gripper.pos``."""
    return name.removesuffix(".pos")


@dataclass(frozen=True, slots=True)
class Motion:
    """Positions over time, in the unit of each joint; between two times, a joint moves evenly."""

    times: Sequence[float]
    positions: Mapping[str, Sequence[float]]
    repeats: bool = False

    def __post_init__(self) -> None:
        if not self.times or not self.positions:
            raise UsageError(f"a motion needs times, and positions of at least one joint, such as {EXAMPLE}")
        if any(late <= early for early, late in zip(self.times, self.times[1:], strict=False)):
            raise UsageError("the times of a motion must grow from each line to the next")
        for name, own in self.positions.items():
            if len(own) != len(self.times):
                raise UsageError(f"a motion has {len(self.times)} times, but {len(own)} positions of {name}")

    @property
    def seconds(self) -> float:
        """How long it takes."""
        return self.times[-1]

    def check_joints(self, known: Sequence[str]) -> None:
        """Raise if it moves a joint that the arm does not have."""
        for name in self.positions:
            if name not in known:
                raise UsageError(f"a motion moves '{name}'{nearest(name, known)} the arm has {', '.join(known)}")

    def __call__(self, seconds: float) -> dict[str, float]:
        """The positions at a time; before the beginning and after the end, the first and the last."""
        if self.repeats and self.seconds > 0:
            seconds = math.fmod(seconds, self.seconds)
        after = bisect.bisect_right(self.times, seconds)
        if after in (0, len(self.times)):
            index = min(after, len(self.times) - 1)
            return {name: own[index] for name, own in self.positions.items()}
        early, late = self.times[after - 1], self.times[after]
        share = (seconds - early) / (late - early)
        return {name: own[after - 1] + share * (own[after] - own[after - 1]) for name, own in self.positions.items()}


def read_motion(path: Path, repeats: bool = False) -> Motion:
    """A motion from a file: CSV with a heading (time, then joints), or JSON with the same lists by name."""
    if not path.is_file():
        raise UsageError(f"there is no file {path}; a motion is a CSV or JSON file with `time` and joints")
    try:
        columns = _csv(path) if path.suffix.lower() == ".csv" else json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read as a motion: {error}") from None
    if not isinstance(columns, dict) or TIME not in columns:
        raise UsageError(f"{path} must have the column 'time' and one for each joint, such as {EXAMPLE}")
    lists = {joint_name(str(name)): _numbers(path, str(name), values) for name, values in columns.items()}
    try:
        return Motion(lists.pop(TIME), lists, repeats)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def _csv(path: Path) -> dict[str, list[Any]]:
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if row]
    if not rows:
        raise ValueError("it is empty")
    heading, *lines = rows
    for number, line in enumerate(lines, start=2):
        if len(line) != len(heading):
            raise ValueError(f"line {number} has {len(line)} values, the heading {len(heading)}")
    return {name.strip(): [line[index] for line in lines] for index, name in enumerate(heading)}


def _numbers(path: Path, name: str, values: Any) -> list[float]:
    if not isinstance(values, list):
        raise UsageError(f"{path}: '{name}' must be a list of numbers")
    numbers = []
    for value in values:
        try:
            number = float(value) if not isinstance(value, bool) else math.nan
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise UsageError(f"{path}: '{name}' must have numbers only, got {value!r}")
        numbers.append(number)
    return numbers
