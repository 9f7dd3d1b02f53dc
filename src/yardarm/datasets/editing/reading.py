"""Reads a dataset's episodes one at a time, as stored on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

from yardarm.datasets.arrow import blaming, open_parquet, read_table, row_groups, to_arrow, to_numpy
from yardarm.datasets.episodes import Episode, stats_of_row
from yardarm.datasets.features import DatasetFeature
from yardarm.datasets.metadata import DatasetMetadata
from yardarm.datasets.statistics import Stats
from yardarm.datasets.v2 import V2EpisodeStats, is_v2
from yardarm.datasets.video import Segment
from yardarm.errors import DatasetFault, one_line

__all__ = ["EpisodeReader"]


class EpisodeReader:
    """Reads frames and statistics of one dataset's episodes, with one row group in memory at a time."""

    def __init__(self, meta: DatasetMetadata) -> None:
        self.meta = meta
        self._file: tuple[Path, pq.ParquetFile] | None = None
        self._group: tuple[Path, int, pa.Table] | None = None
        self._stats: V2EpisodeStats | _EpisodeStats = (
            V2EpisodeStats(meta.root) if is_v2(meta.info) else _EpisodeStats(meta.root)
        )

    def frames(self, episode: Episode) -> pa.Table:
        """An episode's rows."""
        path = self.meta.data_file(episode)
        file = self._open(path)
        if "episode_index" not in file.schema_arrow.names:
            raise DatasetFault(f"{path} has no column 'episode_index'")
        with blaming(path):
            groups = row_groups(file, "episode_index", episode.index, episode.index)
        parts = [self._rows(path, file, group, episode.index) for group in groups]
        found = sum(part.num_rows for part in parts)
        if found != episode.length:
            raise DatasetFault(
                f"{path} has {found} of the {episode.length} frames of episode {episode.index}; "
                "it is damaged, or does not belong to this dataset"
            )
        return pa.concat_tables(parts)

    def column(self, episode: Episode, table: pa.Table, name: str) -> pa.Array:
        """A column of an episode's rows, converted to the type that is written."""
        path, feature = self.meta.data_file(episode), self.meta.info.features[name]
        if name not in table.column_names:
            raise DatasetFault(f"{path} has no column '{name}', which meta/info.json lists")
        column = table[name]
        if column.null_count:
            raise DatasetFault(
                f"{path}: '{name}' has no value in {column.null_count} frames of episode {episode.index}"
            )
        try:
            return _pictures(column) if feature.dtype == "image" else to_arrow(feature, to_numpy(feature, column))
        except (ValueError, TypeError, pa.ArrowException) as error:
            raise DatasetFault(
                f"{path}: '{name}' of episode {episode.index} is not {_described(feature)}: {one_line(error)}"
            ) from error

    def stats(self, episode: Episode) -> Stats:
        """An episode's statistics; empty if none were stored."""
        return self._stats.of(episode.index)

    def segment(self, episode: Episode, key: str) -> Segment:
        """The part of a video file that shows an episode."""
        start_s = episode.videos[key].start_s
        return Segment(self.meta.video_file(episode, key), start_s, episode.length, self.meta.fps)

    def _open(self, path: Path) -> pq.ParquetFile:
        if self._file is None or self._file[0] != path:
            self._file, self._group = (path, open_parquet(path)), None
        return self._file[1]

    def _rows(self, path: Path, file: pq.ParquetFile, group: int, episode: int) -> pa.Table:
        if self._group is None or self._group[:2] != (path, group):
            self._group = None  # frees the old one before the next is read
            self._group = (path, group, _read_group(path, file, group))
        table = self._group[2]
        return table.filter(pa.compute.equal(table["episode_index"], episode))


def _read_group(path: Path, file: pq.ParquetFile, group: int) -> pa.Table:
    with blaming(path):
        return file.read_row_group(group)


def _pictures(column: pa.ChunkedArray) -> pa.Array:
    """The encoded pictures alone, without paths."""
    encoded = pa.concat_arrays([chunk.field("bytes") for chunk in column.chunks]).cast(pa.binary())
    if encoded.null_count:
        raise ValueError("the pictures are not in the table, but in files elsewhere")
    nowhere = pa.nulls(len(encoded), pa.string())
    return pa.StructArray.from_arrays([encoded, nowhere], ["bytes", "path"])


def _described(feature: DatasetFeature) -> str:
    return f"{feature.dtype} of the shape {feature.shape}"


class _EpisodeStats:
    """The statistics in `meta/episodes`, with one file in memory at a time."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._places: dict[int, tuple[Path, int]] | None = None
        self._table: tuple[Path, Any] | None = None

    def of(self, episode: int) -> Stats:
        """An episode's statistics."""
        if self._places is None:
            self._places = self._find()
        if episode not in self._places:
            return {}
        path, row = self._places[episode]
        if self._table is None or self._table[0] != path:
            names = [name for name in open_parquet(path).schema_arrow.names if name.startswith("stats/")]
            self._table = (path, read_table(path, names))
        stats = stats_of_row(self._table[1].slice(row, 1).to_pylist()[0])
        return {feature: {kind: np.atleast_1d(value) for kind, value in own.items()} for feature, own in stats.items()}

    def _find(self) -> dict[int, tuple[Path, int]]:
        return {
            index: (path, row)
            for path in sorted((self._root / "meta" / "episodes").glob("*/*.parquet"))
            for row, index in enumerate(read_table(path, ["episode_index"])["episode_index"].to_pylist())
        }
