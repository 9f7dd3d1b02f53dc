"""Datasets of the versions 2.1 and 2.0, which have a file for each episode, told in the nouns of version 3."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from yardarm.datasets.episodes import Episode, VideoPlace
from yardarm.datasets.info import DatasetInfo, read_info
from yardarm.datasets.layout import FileSlot
from yardarm.datasets.metadata import DatasetMetadata
from yardarm.datasets.statistics import FeatureStats, Stats, aggregate, read_stats
from yardarm.errors import DatasetFault, one_line

__all__ = ["V2EpisodeStats", "is_v2", "read_v2_metadata"]

# So many episodes' statistics are in memory at once.
BATCH = 500


def is_v2(info: DatasetInfo) -> bool:
    """Whether a dataset has a file for each episode."""
    return info.codebase_version.startswith("v2.")


def read_v2_metadata(root: Path) -> DatasetMetadata:
    """Read the `meta` folder of a v2.1 or v2.0 dataset; an episode's number is its file's."""
    info = read_info(root)
    info = replace(
        info,
        fps=int(info.fps) if info.fps == int(info.fps) else info.fps,
        data_path=_path_by_file(info.data_path),
        video_path=info.video_path and _path_by_file(info.video_path),
    )
    return DatasetMetadata(root, info, _tasks(root), _episodes(root, info), _stats(root, info))


def _path_by_file(template: str) -> str:
    """The same files, by the number of the file instead of the episode."""
    return template.replace("{episode_chunk", "{chunk_index").replace("{episode_index", "{file_index")


def _tasks(root: Path) -> tuple[str, ...]:
    path = root / "meta" / "tasks.jsonl"
    tasks = {int(line["task_index"]): str(line["task"]) for line in _lines(path, "task_index", "task")}
    if sorted(tasks) != list(range(len(tasks))):
        raise DatasetFault(f"{path} must number its tasks from 0 on; it has {sorted(tasks)[:10]}")
    return tuple(tasks[number] for number in range(len(tasks)))


def _episodes(root: Path, info: DatasetInfo) -> tuple[Episode, ...]:
    path = root / "meta" / "episodes.jsonl"
    lines = {int(line["episode_index"]): line for line in _lines(path, "episode_index", "tasks", "length")}
    missing = [index for index in range(info.total_episodes) if index not in lines]
    if missing:
        raise DatasetFault(
            f"{path} lacks {len(missing)} of {info.total_episodes} episodes: {', '.join(map(str, missing[:10]))}"
        )
    episodes: list[Episode] = []
    start = 0
    for index in range(info.total_episodes):
        length = int(lines[index]["length"])
        if length < 1:
            raise DatasetFault(f"{path}: episode {index} has {length} frames")
        slot = FileSlot(index // int(info.chunks_size), index)
        videos = {key: VideoPlace(slot, 0.0, length / info.fps) for key in info.video_keys}
        episodes.append(Episode(index, tuple(lines[index]["tasks"]), start, start + length, slot, videos))
        start += length
    return tuple(episodes)


def _stats(root: Path, info: DatasetInfo) -> dict[str, FeatureStats]:
    """Over all episodes; version 2.0 has nothing else."""
    whole: dict[str, FeatureStats] = {}
    batch: list[Stats] = []
    for _, stats in V2EpisodeStats(root):
        batch.append(stats)
        if len(batch) == BATCH:
            whole, batch = _together(root, [whole, *batch]), []
    whole = _together(root, [whole, *batch]) if batch else whole
    return whole or read_stats(root, info.total_frames)


def _together(root: Path, parts: Sequence[Stats]) -> dict[str, FeatureStats]:
    try:
        return aggregate(parts)
    except (KeyError, ValueError) as error:
        path = root / "meta" / "episodes_stats.jsonl"
        raise DatasetFault(f"{path} is damaged: statistics do not fit together ({one_line(error)})") from error


class V2EpisodeStats:
    """The episodes' own statistics, any of which can be reached at once; version 2.0 has none."""

    def __init__(self, root: Path) -> None:
        self._path = root / "meta" / "episodes_stats.jsonl"
        self._places: dict[int, int] | None = None

    def __iter__(self) -> Iterator[tuple[int, Stats]]:
        if self._path.exists():
            for line in _lines(self._path, "episode_index", "stats"):
                yield int(line["episode_index"]), _as_arrays(line["stats"])

    def of(self, episode: int) -> Stats:
        """An episode's statistics; empty if there are none."""
        if self._places is None:
            self._places = self._find()
        if episode not in self._places:
            return {}
        with self._path.open("rb") as file:
            file.seek(self._places[episode])
            return _as_arrays(json.loads(file.readline())["stats"])

    def _find(self) -> dict[int, int]:
        if not self._path.exists():
            return {}
        return {int(line["episode_index"]): place for place, line in _placed(self._path, "episode_index", "stats")}


def _as_arrays(stats: Mapping[str, Mapping[str, Any]]) -> Stats:
    return {
        feature: {kind: np.atleast_1d(np.asarray(value)) for kind, value in own.items()}
        for feature, own in stats.items()
    }


def _lines(path: Path, *names: str) -> Iterator[dict[str, Any]]:
    """The lines of a file, each of which must have these entries."""
    return (line for _, line in _placed(path, *names))


def _placed(path: Path, *names: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The same with the place in the file at which each begins."""
    try:
        with path.open("rb") as file:
            place = 0
            for number, text in enumerate(file, 1):
                if text.strip():
                    yield place, _line(path, number, text, names)
                place += len(text)
    except FileNotFoundError:
        raise DatasetFault(f"{path} is missing; the dataset is incomplete") from None
    except OSError as error:
        raise DatasetFault(f"{path} is damaged: {error}") from error


def _line(path: Path, number: int, text: bytes, names: Sequence[str]) -> dict[str, Any]:
    try:
        line: dict[str, Any] = json.loads(text)
        missing = [name for name in names if name not in line]
    except (ValueError, TypeError) as error:
        raise DatasetFault(f"{path} is damaged in line {number}: {error}") from error
    if missing:
        raise DatasetFault(f"{path} has no '{missing[0]}' in line {number}")
    return line
