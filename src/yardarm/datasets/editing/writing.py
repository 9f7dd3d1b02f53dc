"""Writes full-size data files and files of episode rows, in a folder that stays hidden until it is complete."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from yardarm.datasets.arrow import arrow_schema
from yardarm.datasets.episodes import Episode, write_episodes
from yardarm.datasets.info import DatasetInfo
from yardarm.datasets.layout import MB, FileSlot, data_file
from yardarm.datasets.statistics import FeatureStats, Stats, aggregate

__all__ = ["DataFiles", "RowFiles"]

# How many episodes' statistics are in memory at once.
ROWS = 500


class DataFiles:
    """Writes data files with one row group per episode, so that any episode is quickly found."""

    def __init__(self, root: Path, info: DatasetInfo) -> None:
        self._root, self._info = root, info
        self._schema = arrow_schema(info.features)
        self._slot = FileSlot()
        self._open: tuple[IO[bytes], pq.ParquetWriter] | None = None

    def add(self, table: pa.Table) -> FileSlot:
        """Append an episode; return the file that it is in."""
        # On disk it takes about its size in memory, at most.
        if self._open and self._open[0].tell() + table.nbytes > self._info.data_files_size_in_mb * MB:
            self.close()
            self._slot = self._slot.next(self._info.chunks_size)
        if self._open is None:
            path = data_file(self._root, self._info, self._slot)
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("wb")
            self._open = file, pq.ParquetWriter(file, self._schema, compression="snappy", use_dictionary=True)
        self._open[1].write_table(table, row_group_size=max(1, table.num_rows))
        return self._slot

    def close(self) -> None:
        """Complete the last file."""
        if self._open is not None:
            (file, writer), self._open = self._open, None
            writer.close()
            file.close()


class RowFiles:
    """Writes episode rows, and combines their statistics."""

    def __init__(self, root: Path, info: DatasetInfo) -> None:
        self._root, self._info = root, info
        self._slot = FileSlot()
        self._rows: list[tuple[Episode, Stats]] = []
        self.episodes: list[Episode] = []
        self.stats: dict[str, FeatureStats] = {}

    def add(self, episode: Episode, stats: Stats) -> None:
        """Append an episode's row."""
        if len(self._rows) == ROWS:
            self.flush()
            self._slot = self._slot.next(self._info.chunks_size)
        episode = replace(episode, row=self._slot)
        self.episodes.append(episode)
        self._rows.append((episode, stats))

    def flush(self) -> None:
        """Write the collected rows to a file."""
        if self._rows:
            write_episodes(self._root, self._slot, self._rows)
            self.stats = aggregate([self.stats, *(stats for _, stats in self._rows)])
            self._rows = []
