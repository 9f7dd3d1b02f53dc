"""Reads datasets of versions 2.1 and 2.0, which have one file per episode, as if they were version 3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from yardarm.contents import Check, anything, count, list_of, map_of, parse_json, positive, record, text
from yardarm.datasets.arrow import blaming
from yardarm.datasets.episodes import Episode, VideoPlace, check_complete
from yardarm.datasets.info import DatasetInfo, read_info
from yardarm.datasets.layout import FileSlot
from yardarm.datasets.metadata import DatasetMetadata
from yardarm.datasets.statistics import FeatureStats, Stats, aggregate, read_stats, stats_from_json
from yardarm.errors import DatasetFault, one_line

__all__ = ["V2EpisodeStats", "is_v2", "read_v2_metadata"]

TASK = record({"task_index": count, "task": text})
EPISODE = record({"episode_index": count, "tasks": list_of(text), "length": positive})
STATS = record({"episode_index": count, "stats": map_of(map_of(anything))})
# How many episodes' statistics are in memory at once.
BATCH = 500


def is_v2(info: DatasetInfo) -> bool:
    """Whether a dataset has one file per episode."""
    return info.codebase_version.startswith("v2.")


def read_v2_metadata(root: Path) -> DatasetMetadata:
    """Read the `meta` folder of a v2.1 or v2.0 dataset; an episode's number is also its file's."""
    info = read_info(root)
    info = replace(
        info,
        fps=int(info.fps) if info.fps == int(info.fps) else info.fps,
        data_path=_path_by_file(info.data_path),
        video_path=info.video_path and _path_by_file(info.video_path),
    )
    return DatasetMetadata(root, info, _tasks(root), _episodes(root, info), _stats(root, info))


def _path_by_file(template: str) -> str:
    """The same path template with the file's number instead of the episode's."""
    return template.replace("{episode_chunk", "{chunk_index").replace("{episode_index", "{file_index")


def _tasks(root: Path) -> tuple[str, ...]:
    path = root / "meta" / "tasks.jsonl"
    tasks = {line["task_index"]: line["task"] for line in _lines(path, TASK)}
    if sorted(tasks) != list(range(len(tasks))):
        raise DatasetFault(f"{path} must number its tasks from 0; it has {sorted(tasks)[:10]}")
    return tuple(tasks[number] for number in range(len(tasks)))


def _episodes(root: Path, info: DatasetInfo) -> tuple[Episode, ...]:
    path = root / "meta" / "episodes.jsonl"
    lines = {line["episode_index"]: line for line in _lines(path, EPISODE)}
    check_complete(path, info, lines)
    episodes: list[Episode] = []
    start = 0
    for index in range(info.total_episodes):
        length = lines[index]["length"]
        slot = FileSlot(index // info.chunks_size, index)
        videos = {key: VideoPlace(slot, 0.0, length / info.fps) for key in info.video_keys}
        episodes.append(Episode(index, tuple(lines[index]["tasks"]), start, start + length, slot, videos))
        start += length
    return tuple(episodes)


def _stats(root: Path, info: DatasetInfo) -> dict[str, FeatureStats]:
    """Statistics over all episodes; version 2.0 has no others."""
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
        raise DatasetFault(f"{path} is damaged: statistics of episodes differ in shape ({one_line(error)})") from error


class V2EpisodeStats:
    """Each episode's statistics, with fast access to any of them; version 2.0 has none."""

    def __init__(self, root: Path) -> None:
        self._path = root / "meta" / "episodes_stats.jsonl"
        self._places: dict[int, int] | None = None

    def __iter__(self) -> Iterator[tuple[int, Stats]]:
        if self._path.exists():
            for line in _lines(self._path, STATS):
                with blaming(self._path):
                    yield line["episode_index"], stats_from_json(line["stats"])

    def of(self, episode: int) -> Stats:
        """An episode's statistics; empty if there are none."""
        if self._places is None:
            self._places = self._find()
        if episode not in self._places:
            return {}
        with blaming(self._path), self._path.open("rb") as file:
            file.seek(self._places[episode])
            return stats_from_json(parse_json(file.readline())["stats"])

    def _find(self) -> dict[int, int]:
        if not self._path.exists():
            return {}
        return {line["episode_index"]: place for place, line in _placed(self._path, STATS)}


def _lines(path: Path, check: Check) -> Iterator[dict[str, Any]]:
    """A file's lines, parsed and checked."""
    return (line for _, line in _placed(path, check))


def _placed(path: Path, check: Check) -> Iterator[tuple[int, dict[str, Any]]]:
    """A file's lines, parsed and checked, each with its offset in the file."""
    try:
        with path.open("rb") as file:
            place = 0
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield place, _line(path, number, line, check)
                place += len(line)
    except FileNotFoundError:
        raise DatasetFault(f"{path} is missing; the dataset is incomplete") from None
    except OSError as error:
        raise DatasetFault(f"{path} is damaged: {error}") from error


def _line(path: Path, number: int, line: bytes, check: Check) -> dict[str, Any]:
    try:
        content: dict[str, Any] = parse_json(line)
        check(content, "")
    except ValueError as error:
        raise DatasetFault(f"{path} is damaged in line {number}: {error}") from error
    return content
