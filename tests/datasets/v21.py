"""Writes datasets of version 2.1 (and 2.0) as LeRobot did before 3.0: a file for each episode."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from tests.datasets.made import FAST, FPS, WITH_VIDEO, frame_of
from yardarm.datasets import INDEX_FEATURES, DatasetFeature, VideoEncoding
from yardarm.datasets.arrow import frames_table
from yardarm.datasets.pictures import encode_picture
from yardarm.datasets.statistics import PixelCounts, number_stats
from yardarm.datasets.video import BackgroundEncoder

DATA = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
VIDEO = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
# Statistics had no quantiles then.
KINDS = ("min", "max", "mean", "std", "count")


def make_v21(
    root: Path,
    lengths: Sequence[int] = (5, 3, 7),
    features: Mapping[str, DatasetFeature] = WITH_VIDEO,
    version: str = "v2.1",
    chunks_size: int = 1000,
    encoding: VideoEncoding = FAST,
) -> Path:
    """The episodes that `make_dataset` writes, in the old layout."""
    tasks = list(dict.fromkeys(frame_of({}, episode, 0)["task"] for episode in range(len(lengths))))
    start, lines, stats = 0, [], []
    for episode, length in enumerate(lengths):
        frames = [frame_of(features, episode, number) for number in range(length)]
        place = {"episode_chunk": episode // chunks_size, "episode_index": episode}
        index = index_columns(episode, start, [tasks.index(frame["task"]) for frame in frames])
        own = write_episode(root, features, frames, index, place, encoding)
        lines.append({"episode_index": episode, "tasks": [frames[0]["task"]], "length": length})
        stats.append({"episode_index": episode, "stats": own})
        start += length
    schema = {**features, **INDEX_FEATURES}
    info = {
        "codebase_version": version,
        "robot_type": "toy",
        "total_episodes": len(lengths),
        "total_frames": start,
        "total_tasks": len(tasks),
        "total_videos": len(lengths) * sum(feature.is_video for feature in features.values()),
        "total_chunks": (len(lengths) - 1) // chunks_size + 1,
        "chunks_size": chunks_size,
        "fps": FPS,
        "splits": {"train": f"0:{len(lengths)}"},
        "data_path": DATA,
        "video_path": VIDEO if any(feature.is_video for feature in features.values()) else None,
        "features": {name: feature.to_json() for name, feature in schema.items()},
    }
    meta = root / "meta"
    meta.mkdir()
    (meta / "info.json").write_text(json.dumps(info))
    write_lines(meta / "episodes.jsonl", lines)
    write_lines(meta / "tasks.jsonl", [{"task_index": number, "task": task} for number, task in enumerate(tasks)])
    if version == "v2.1":
        write_lines(meta / "episodes_stats.jsonl", stats)
    return root


def index_columns(episode: int, start: int, tasks: Sequence[int]) -> dict[str, np.ndarray]:
    frames = np.arange(len(tasks))
    return {
        "timestamp": (frames / FPS).astype(np.float32),
        "frame_index": frames,
        "episode_index": np.full(len(tasks), episode),
        "index": start + frames,
        "task_index": np.array(tasks),
    }


def write_episode(
    root: Path,
    features: Mapping[str, DatasetFeature],
    frames: Sequence[Mapping[str, Any]],
    columns: dict[str, Any],
    place: Mapping[str, int],
    encoding: VideoEncoding,
) -> dict[str, Any]:
    """Write an episode's files; returns its statistics as JSON."""
    stats: dict[str, Any] = {}
    for name, feature in features.items():
        values = [frame[name] for frame in frames]
        if feature.is_visual:
            counts = PixelCounts()
            for picture in values:
                counts.add(picture)
            stats[name] = counts.stats()
        if feature.is_video:
            path = root / VIDEO.format(video_key=name, **place)
            path.parent.mkdir(parents=True, exist_ok=True)
            encoder = BackgroundEncoder(path, FPS, encoding)
            for picture in values:
                encoder.add(picture)
            encoder.finish()
        else:
            columns[name] = [encode_picture(picture) for picture in values] if feature.is_visual else values
    schema = {**features, **INDEX_FEATURES}
    stats |= {name: number_stats(np.asarray(columns[name])) for name in schema if schema[name].is_numeric}
    path = root / DATA.format(**place)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(frames_table(schema, columns), path)
    return {name: {kind: own[kind].tolist() for kind in KINDS} for name, own in stats.items()}


def write_lines(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
