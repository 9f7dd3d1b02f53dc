"""Reads recorded datasets for tests, with as little of Yardarm's own code as can be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from yardarm.datasets import read_metadata
from yardarm.results import EpisodeRecord, RunFolder, read_journal


def table(root: Path) -> pa.Table:
    """All frames."""
    files = sorted((root / "data").rglob("*.parquet"))
    return pa.concat_tables([pq.read_table(file) for file in files])


def column(root: Path, name: str) -> np.ndarray:
    """One feature of all frames."""
    return np.array(table(root)[name].to_pylist())


def contents(root: Path) -> dict[str, Any]:
    """All that makes two datasets the same: every file but tables, byte for byte, and what tables hold."""
    files = [path for path in sorted(root.rglob("*")) if path.is_file()]
    return {
        str(path.relative_to(root)): pq.read_table(path) if path.suffix == ".parquet" else path.read_bytes()
        for path in files
    }


def finished(run: Path) -> list[EpisodeRecord]:
    """A run's episodes in the planned order of its one task, or of tasks in the order of their names."""
    records = {record.key: record for record in read_journal(run / "episodes.jsonl")}
    return sorted(records.values(), key=lambda record: (record.key.task, record.key.index))


def assert_holds(root: Path, run: Path, records: list[EpisodeRecord]) -> None:
    """Hold a dataset against what the run's folder says of these episodes, in this order."""
    played = [RunFolder(run).load_played(record.key) for record in records]
    meta = read_metadata(root)
    assert [episode.length for episode in meta.episodes] == [record.steps for record in records]
    actions = np.concatenate([episode.actions for episode in played])
    np.testing.assert_array_equal(column(root, "action").reshape(actions.shape), actions)
    rewards = np.concatenate([episode.rewards for episode in played])
    np.testing.assert_array_equal(column(root, "next.reward"), rewards.astype(np.float32))
    ends = np.cumsum([record.steps for record in records]) - 1
    np.testing.assert_array_equal(np.flatnonzero(column(root, "next.done")), ends)
    solved = [end for end, record in zip(ends, records, strict=True) if record.success]
    np.testing.assert_array_equal(np.flatnonzero(column(root, "next.success")), solved)
