"""`meta/episodes`: one row per episode, with its place in the files and its statistics."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from yardarm.contents import count, list_of, number, optional, record, text
from yardarm.datasets.arrow import blaming, open_parquet, read_table, write_row_groups
from yardarm.datasets.info import DatasetInfo
from yardarm.datasets.layout import FileSlot, episodes_file
from yardarm.datasets.statistics import FeatureStats, Stats
from yardarm.errors import DatasetFault

__all__ = [
    "Episode",
    "VideoPlace",
    "check_complete",
    "read_episode_stats",
    "read_episodes",
    "stats_of_row",
    "write_episodes",
]


ROW = record(
    {
        "episode_index": count,
        "tasks": optional(list_of(text)),
        "dataset_from_index": count,
        "dataset_to_index": count,
        "data/chunk_index": count,
        "data/file_index": count,
    }
)
VIDEO_PLACE = {"chunk_index": count, "file_index": count, "from_timestamp": number, "to_timestamp": number}


@dataclass(frozen=True, slots=True)
class VideoPlace:
    """Where an episode's video is: a file, and a time span in it."""

    slot: FileSlot
    start_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Episode:
    """An episode's place in the dataset."""

    index: int
    tasks: tuple[str, ...]
    start: int
    """Its first frame, counted over the whole dataset."""
    stop: int
    """The frame after its last one."""
    data: FileSlot
    videos: Mapping[str, VideoPlace] = field(default_factory=dict)
    row: FileSlot = FileSlot()
    """The file that holds this row."""

    @property
    def length(self) -> int:
        """Its number of frames."""
        return self.stop - self.start


def read_episodes(root: Path, info: DatasetInfo) -> tuple[Episode, ...]:
    """The episodes that `info.json` counts; leftovers of a killed writer beyond them are ignored."""
    if not info.total_episodes:
        return ()
    rows: dict[int, Episode] = {}
    for path in _files(root):
        with blaming(path):
            columns = [name for name in open_parquet(path).schema_arrow.names if not name.startswith("stats/")]
            for row in read_table(path, columns).to_pylist():
                episode = _episode(path, row, info)
                rows[episode.index] = episode
    check_complete(root / "meta" / "episodes", info, rows)
    episodes = tuple(rows[index] for index in range(info.total_episodes))
    _check_order(root, episodes)
    return episodes


def check_complete(path: Path, info: DatasetInfo, known: Collection[int]) -> None:
    """Raise if a file lacks episodes that `info.json` counts, and name them."""
    missing = info.total_episodes - sum(index < info.total_episodes for index in known)
    if missing:
        shown = islice((index for index in range(info.total_episodes) if index not in known), 10)
        raise DatasetFault(f"{path} lacks {missing} of {info.total_episodes} episodes: {', '.join(map(str, shown))}")


def _files(root: Path) -> list[Path]:
    paths = sorted((root / "meta" / "episodes").glob("*/*.parquet"))
    if not paths:
        raise DatasetFault(f"{root / 'meta' / 'episodes'} has no file; the dataset is incomplete")
    return paths


def _episode(path: Path, row: dict[str, Any], info: DatasetInfo) -> Episode:
    ROW(row, "")
    return Episode(
        index=row["episode_index"],
        tasks=tuple(row["tasks"] or ()),
        start=row["dataset_from_index"],
        stop=row["dataset_to_index"],
        data=FileSlot(row["data/chunk_index"], row["data/file_index"]),
        videos={key: _video_place(row, f"videos/{key}/") for key in info.video_keys},
        row=_slot_of(path),  # not from the row itself: other programs have written it wrong
    )


def _slot_of(path: Path) -> FileSlot:
    numbers = [re.search(r"\d+", name) for name in (path.parent.name, path.stem)]
    return FileSlot(*(int(number[0]) if number else 0 for number in numbers))


def _video_place(row: dict[str, Any], prefix: str) -> VideoPlace:
    record({f"{prefix}{name}": check for name, check in VIDEO_PLACE.items()})(row, "")
    slot = FileSlot(row[f"{prefix}chunk_index"], row[f"{prefix}file_index"])
    return VideoPlace(slot, row[f"{prefix}from_timestamp"], row[f"{prefix}to_timestamp"])


def _check_order(root: Path, episodes: Sequence[Episode]) -> None:
    expected = 0
    for episode in episodes:
        if episode.start != expected or episode.stop <= episode.start:
            raise DatasetFault(
                f"{root / 'meta' / 'episodes'}: episode {episode.index} has the frames {episode.start} to "
                f"{episode.stop}, but the previous one ends at {expected}"
            )
        expected = episode.stop


def read_episode_stats(root: Path, info: DatasetInfo) -> Iterator[tuple[int, Stats]]:
    """Each episode's own statistics, in no particular order."""
    for path in _files(root):
        with blaming(path):
            for row in read_table(path).to_pylist():
                if row["episode_index"] < info.total_episodes:
                    yield row["episode_index"], stats_of_row(row)


def stats_of_row(row: Mapping[str, Any]) -> Stats:
    """The statistics in an episode's row."""
    stats: dict[str, FeatureStats] = {}
    for name, value in row.items():
        if name.startswith("stats/") and value is not None:
            feature, _, kind = name.removeprefix("stats/").rpartition("/")
            stats.setdefault(feature, {})[kind] = np.asarray(value)
    return stats


def write_episodes(root: Path, slot: FileSlot, episodes: Sequence[tuple[Episode, Stats]]) -> None:
    """Replace a file of episode rows."""
    rows = [_row(episode, stats, slot) for episode, stats in episodes]
    # Arrow takes the columns from the first row, but later rows may have statistics that it lacks.
    rows[0] = {**dict.fromkeys(name for row in rows for name in row), **rows[0]}
    table = pa.Table.from_pylist(rows)
    write_row_groups(episodes_file(root, slot), table.schema, [table])


def _row(episode: Episode, stats: Stats, slot: FileSlot) -> dict[str, Any]:
    row: dict[str, Any] = {
        "episode_index": episode.index,
        "tasks": list(episode.tasks),
        "length": episode.length,
        "data/chunk_index": episode.data.chunk,
        "data/file_index": episode.data.file,
        "dataset_from_index": episode.start,
        "dataset_to_index": episode.stop,
    }
    for key, place in episode.videos.items():
        row[f"videos/{key}/chunk_index"] = place.slot.chunk
        row[f"videos/{key}/file_index"] = place.slot.file
        row[f"videos/{key}/from_timestamp"] = place.start_s
        row[f"videos/{key}/to_timestamp"] = place.end_s
    for feature, values in stats.items():
        for kind, value in values.items():
            row[f"stats/{feature}/{kind}"] = np.asarray(value).tolist()
    return {**row, "meta/episodes/chunk_index": slot.chunk, "meta/episodes/file_index": slot.file}
