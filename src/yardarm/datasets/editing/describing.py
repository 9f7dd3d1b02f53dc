"""Describes a dataset's folder: totals, codecs, sizes, missing and damaged files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from yardarm.datasets.arrow import open_parquet
from yardarm.datasets.editing.transaction import leftovers_of, restore_original
from yardarm.datasets.layout import episodes_file
from yardarm.datasets.metadata import DatasetMetadata, read_metadata
from yardarm.datasets.v2 import is_v2
from yardarm.datasets.video import video_info
from yardarm.errors import DatasetFault

__all__ = ["DatasetSummary", "describe_dataset"]

# A version 2 dataset can have many thousands of videos; this many are enough to see how they are encoded.
MOST_OPENED = 64


@dataclass(frozen=True, slots=True)
class DatasetSummary:
    """A dataset in numbers. Sizes are in bytes."""

    root: Path
    version: str
    robot_type: str | None
    fps: float
    episodes: int
    frames: int
    tasks: dict[str, int]
    """Number of episodes per instruction."""
    lengths: dict[str, float]
    """The shortest, median and longest episode, in frames."""
    features: dict[str, dict[str, Any]]
    codecs: dict[str, list[str]]
    """How each camera's videos are encoded."""
    sizes: dict[str, int]
    missing: list[Path]
    """Files that the dataset needs but lacks."""
    damaged: list[str]
    """What is wrong with files, as far as their headers and footers show."""
    leftovers: list[Path]
    """Unused files of recordings and edits that were killed."""

    def to_json(self) -> dict[str, Any]:
        """The summary as plain data."""
        paths = {name: [str(path) for path in getattr(self, name)] for name in ("missing", "leftovers")}
        return {**asdict(self), "root": str(self.root), **paths}


def describe_dataset(root: Path) -> DatasetSummary:
    """Read a dataset's description and check its files; frames are not read."""
    restore_original(root)
    meta = read_metadata(root)
    needed = _needed(meta)
    found = [path for path in root.rglob("*") if path.is_file()]
    lengths = [episode.length for episode in meta.episodes]
    videos = {key: _look_into_videos(meta, key) for key in meta.video_keys} if meta.episodes else {}
    return DatasetSummary(
        root=root,
        version=meta.info.codebase_version,
        robot_type=meta.robot_type,
        fps=meta.fps,
        episodes=meta.total_episodes,
        frames=meta.total_frames,
        tasks=_tasks(meta),
        lengths=_spread(lengths) if lengths else {},
        features=meta.features,
        codecs={key: codecs for key, (codecs, _) in videos.items()},
        sizes=_sizes(root, found),
        missing=sorted(needed - set(found)),
        damaged=[*_damaged_tables(needed & set(found)), *(fault for _, faults in videos.values() for fault in faults)],
        leftovers=[
            *sorted(path for path in found if _is_left_over(root, path, needed)),
            *leftovers_of(root.resolve()),
        ],
    )


def _damaged_tables(paths: Iterable[Path]) -> list[str]:
    faults = []
    for path in sorted(path for path in paths if path.suffix == ".parquet"):
        try:
            open_parquet(path).close()
        except DatasetFault as error:
            faults.append(str(error))
    return faults


def _needed(meta: DatasetMetadata) -> set[Path]:
    needed = {meta.data_file(episode) for episode in meta.episodes}
    needed |= {meta.video_file(episode, key) for key in meta.video_keys for episode in meta.episodes}
    if not is_v2(meta.info):
        needed |= {episodes_file(meta.root, episode.row) for episode in meta.episodes}
    return needed


def _is_left_over(root: Path, path: Path, needed: set[Path]) -> bool:
    place = path.relative_to(root)
    if place.name.startswith(".draft-") or ".tmp" in place.suffixes:
        return True
    is_own = place.parts[0] in ("data", "videos") or place.parts[:2] == ("meta", "episodes")
    return is_own and path.suffix in (".parquet", ".mp4") and path not in needed


def _tasks(meta: DatasetMetadata) -> dict[str, int]:
    counts = Counter(task for episode in meta.episodes for task in episode.tasks)
    return {task: counts[task] for task in meta.tasks}


def _spread(lengths: Sequence[int]) -> dict[str, float]:
    return {"min": min(lengths), "median": float(np.median(lengths)), "max": max(lengths)}


def _look_into_videos(meta: DatasetMetadata, key: str) -> tuple[list[str], list[str]]:
    """How a camera's videos are encoded, and which of those that exist are damaged."""
    paths = list(dict.fromkeys(meta.video_file(episode, key) for episode in meta.episodes))
    step = -(-len(paths) // MOST_OPENED)
    codecs, faults = [], []
    for path in [path for path in paths[::step] if path.exists()]:
        try:
            fact = video_info(path)
            codecs.append(f"{fact['video.codec']} {fact['video.pix_fmt']}")
        except DatasetFault as error:
            faults.append(str(error))
    return list(dict.fromkeys(codecs)), faults


def _sizes(root: Path, found: Sequence[Path]) -> dict[str, int]:
    sizes = {"data": 0, "videos": 0, "meta": 0, "other": 0}
    for path in found:
        first = path.relative_to(root).parts[0]
        sizes[first if first in sizes else "other"] += path.stat().st_size
    return sizes
