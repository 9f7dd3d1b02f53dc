"""Reads datasets back, frame by frame, by nothing but Parquet and a decoder."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from yardarm.datasets import INDEX_FEATURES, read_metadata
from yardarm.datasets.arrow import to_numpy
from yardarm.datasets.pictures import decode_picture
from yardarm.datasets.video import VideoReaders

TOLERANCE_S = 1e-4


def episodes_of(root: Path) -> list[dict[str, Any]]:
    """All of each episode: its columns, its pictures, its instructions by their words."""
    meta = read_metadata(root)
    readers = VideoReaders()
    found = []
    for episode in meta.episodes:
        table = pq.read_table(meta.data_file(episode))
        table = table.filter(np.array(table["episode_index"]) == episode.index)
        assert table["index"].to_pylist() == list(range(episode.start, episode.stop))
        assert table["frame_index"].to_pylist() == list(range(episode.length))
        columns: dict[str, Any] = {}
        for name, feature in meta.info.features.items():
            if feature.is_video:
                times = episode.videos[name].start_s + np.array(table["timestamp"], float)
                columns[name] = readers.frames_at(meta.video_file(episode, name), times.tolist(), TOLERANCE_S)
            elif feature.is_visual:
                columns[name] = np.stack([decode_picture(row["bytes"]) for row in table[name].to_pylist()])
            elif name not in INDEX_FEATURES or name == "timestamp":
                columns[name] = to_numpy(feature, table[name])
        columns["task"] = np.array([meta.tasks[number] for number in table["task_index"].to_pylist()])
        assert set(columns["task"]) <= set(episode.tasks)
        found.append(columns)
    readers.close()
    return found


def assert_same_episodes(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """To the last bit, whatever the numbering."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert list(one) == list(other) or set(one) == set(other)
        for name in one:
            np.testing.assert_array_equal(one[name], other[name], err_msg=name)


def snapshot(folder: Path) -> dict[str, str]:
    """Every file of a folder and the hash of its content."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
