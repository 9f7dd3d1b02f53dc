"""When the frames of a robot's episode were really made: ``meta/measured/episode_000000.parquet``.

A dataset's own timestamps are the grid of 1/fps. These are the times that were measured, a row for each frame, and the
action that was asked for, where the dataset's is the one that was sent. LeRobot ignores the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from yardarm.datasets.arrow import blaming, read_table, write_row_groups

__all__ = ["MeasuredTimes", "measured_file", "read_measured", "remove_measured", "write_measured"]

TIMES = ("due_s", "began_s", "joints_s", "sent_s")
NAMES = b"yardarm.asked"


@dataclass(frozen=True, slots=True)
class MeasuredTimes:
    """The times of an episode, in seconds of the clock that its loop ran by; one value for each frame."""

    tick: np.ndarray
    """The place on the grid of 1/fps. What is missing between two was missed, and has no frame."""
    due_s: np.ndarray
    began_s: np.ndarray
    joints_s: np.ndarray
    sent_s: np.ndarray
    asked: np.ndarray
    """(frames, numbers): the action that was asked for."""
    asked_names: Sequence[str]
    captured_s: Mapping[str, np.ndarray]
    """By camera: when its picture was taken."""
    numbers: Mapping[str, np.ndarray]
    """By camera: the number of its picture. The same number again is the same picture again."""

    def __len__(self) -> int:
        return len(self.tick)

    def part(self, frames: range) -> MeasuredTimes:
        """The times of some frames only."""
        cut = slice(frames.start, frames.stop)
        return replace(
            self,
            **{name: getattr(self, name)[cut] for name in ("tick", *TIMES, "asked")},
            captured_s={name: values[cut] for name, values in self.captured_s.items()},
            numbers={name: values[cut] for name, values in self.numbers.items()},
        )


def measured_file(root: Path, episode: int) -> Path:
    """The file of an episode, if a robot was recorded."""
    return root / "meta" / "measured" / f"episode_{episode:06d}.parquet"


def write_measured(root: Path, episode: int, measured: MeasuredTimes) -> None:
    """Write an episode's file; it belongs to the dataset once that counts the episode."""
    asked = np.ascontiguousarray(measured.asked, np.float32)
    columns = {
        "tick": pa.array(measured.tick, pa.int64()),
        **{name: pa.array(getattr(measured, name), pa.float64()) for name in TIMES},
        "asked": pa.FixedSizeListArray.from_arrays(pa.array(asked.reshape(-1)), asked.shape[1]),
    }
    for camera in measured.captured_s:
        columns[f"{camera}.captured_s"] = pa.array(measured.captured_s[camera], pa.float64())
        columns[f"{camera}.number"] = pa.array(measured.numbers[camera], pa.int64())
    table = pa.table(columns).replace_schema_metadata({NAMES: json.dumps(list(measured.asked_names))})
    write_row_groups(measured_file(root, episode), table.schema, [table])


def read_measured(root: Path, episode: int) -> MeasuredTimes | None:
    """An episode's measured times; None if there are none."""
    path = measured_file(root, episode)
    if not path.is_file():
        return None
    table = read_table(path)
    with blaming(path):
        asked = table["asked"].combine_chunks()
        numbers = [name for name in table.column_names if name.endswith(".number")]
        cameras = [name.removesuffix(".number") for name in numbers]
        return MeasuredTimes(
            **{name: table[name].to_numpy() for name in ("tick", *TIMES)},
            asked=asked.flatten().to_numpy().reshape(len(table), -1),
            asked_names=tuple(json.loads(table.schema.metadata[NAMES])),
            captured_s={name: table[f"{name}.captured_s"].to_numpy() for name in cameras},
            numbers={name: table[f"{name}.number"].to_numpy() for name in cameras},
        )


def remove_measured(root: Path, first: int) -> None:
    """Remove the files of this episode and of all after it, which a killed writer may have left."""
    for path in (root / "meta" / "measured").glob("episode_*.parquet"):
        number = path.stem.removeprefix("episode_")
        if number.isdecimal() and int(number) >= first:
            path.unlink(missing_ok=True)
