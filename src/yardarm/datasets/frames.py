"""Reads frames from the data files into arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
import pyarrow as pa

from yardarm.datasets.arrow import OpenFile, blaming, open_parquet, row_groups, to_numpy
from yardarm.datasets.episodes import Episode
from yardarm.datasets.features import INDEX_FEATURES
from yardarm.datasets.metadata import DatasetMetadata
from yardarm.errors import DatasetFault

__all__ = ["columns_without_images", "read_frames"]


def columns_without_images(meta: DatasetMetadata) -> list[str]:
    """The features in the table that are not pictures."""
    return [name for name, feature in meta.info.features.items() if feature.is_readable and not feature.is_visual]


def read_frames(
    meta: DatasetMetadata,
    episodes: Sequence[Episode],
    names: Sequence[str] | None = None,
    open_file: OpenFile | None = None,
) -> dict[str, np.ndarray]:
    """The columns of these episodes, concatenated: one row per frame, and no extra axis for scalars.

    Pictures are encoded PNGs, and are read only if `names` includes them.
    """
    names = columns_without_images(meta) if names is None else list(names)
    parts = [_of_file(meta, path, own, names, open_file) for path, own in _by_file(meta, episodes)]
    if not parts:
        return {name: to_numpy(meta.info.features[name], pa.chunked_array([], pa.int8())) for name in names}
    return {name: np.concatenate([part[name] for part in parts]) for name in names}


def _by_file(meta: DatasetMetadata, episodes: Sequence[Episode]) -> Iterator[tuple[Path, list[Episode]]]:
    for _, own in groupby(episodes, key=lambda episode: episode.data):
        listed = list(own)
        yield meta.data_file(listed[0]), listed


def _of_file(
    meta: DatasetMetadata,
    path: Path,
    episodes: Sequence[Episode],
    names: Sequence[str],
    open_file: OpenFile | None,
) -> dict[str, np.ndarray]:
    with blaming(path):
        table = _read(path, episodes, list(dict.fromkeys([*names, "index"])), open_file)
        return _columns(meta, path, table, episodes, names)


def _columns(
    meta: DatasetMetadata, path: Path, table: pa.Table, episodes: Sequence[Episode], names: Sequence[str]
) -> dict[str, np.ndarray]:
    index = to_numpy(INDEX_FEATURES["index"], table["index"])
    rows = np.concatenate([_rows(path, index, episode) for episode in episodes])
    everything = len(rows) == len(index) and bool((rows[1:] > rows[:-1]).all())
    columns = {name: to_numpy(meta.info.features[name], table[name]) for name in names}
    return columns if everything else {name: column[rows] for name, column in columns.items()}


def _read(path: Path, episodes: Sequence[Episode], names: list[str], open_file: OpenFile | None) -> pa.Table:
    """Read the row groups from the first to the last of these episodes."""
    with open_parquet(path, open_file) as file:
        missing = [name for name in names if name not in file.schema_arrow.names]
        if missing:
            raise DatasetFault(f"{path} has no column '{missing[0]}', which meta/info.json lists")
        first, last = min(own.start for own in episodes), max(own.stop for own in episodes) - 1
        return file.read_row_groups(row_groups(file, "index", first, last), names, use_threads=False)


def _rows(path: Path, index: np.ndarray, episode: Episode) -> np.ndarray:
    """Where an episode's frames are in a table."""
    (rows,) = np.nonzero((index >= episode.start) & (index < episode.stop))
    if len(rows) != episode.length or not (index[rows] == np.arange(episode.start, episode.stop)).all():
        raise DatasetFault(
            f"{path} has {len(rows)} of the {episode.length} frames of episode {episode.index} "
            f"(index {episode.start} to {episode.stop - 1}), or has them out of order"
        )
    return rows
