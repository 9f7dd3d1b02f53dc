"""Writes datasets episode by episode. Saved episodes stay readable, even if the writer is killed."""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq

from yardarm.datasets.arrow import arrow_schema, frames_table, read_table, write_row_groups
from yardarm.datasets.draft import EpisodeDraft
from yardarm.datasets.episodes import Episode, VideoPlace, read_episode_stats, write_episodes
from yardarm.datasets.features import INDEX_FEATURES, check_features
from yardarm.datasets.info import DatasetInfo, read_info, write_info
from yardarm.datasets.layout import MB, FileSlot, data_file, episodes_file, tasks_file, video_file
from yardarm.datasets.measured import MeasuredTimes, remove_measured, write_measured
from yardarm.datasets.metadata import DatasetMetadata, read_metadata
from yardarm.datasets.statistics import Stats, aggregate, number_stats, write_stats
from yardarm.datasets.tasks import write_tasks
from yardarm.datasets.video import Segment, VideoEncoding, join_segments, kind_of_video
from yardarm.errors import UsageError
from yardarm.files import TEMPORARY, lock_folder

__all__ = ["DatasetWriter"]

log = logging.getLogger(__name__)

# A growing file is rewritten with each episode, so that it is complete at any moment. To keep that cheap, files grow
# only to these sizes, or to the limits in `info.json` if those are smaller: each row group of a table costs about a
# millisecond, however small it is.
GROWING_DATA = 8 * MB
GROWING_VIDEO = 32 * MB
GROWING_EPISODES = 64


@dataclass(frozen=True, slots=True)
class _GrowingData:
    """The data file that the next episode may be added to."""

    slot: FileSlot
    tables: tuple[pa.Table, ...] = ()
    size: int = 0


@dataclass(frozen=True, slots=True)
class _GrowingVideo:
    """The video file that the next episode may be added to."""

    slot: FileSlot
    frames: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class _GrowingRows:
    """The file of episode rows that the next episode may be added to."""

    slot: FileSlot
    rows: tuple[tuple[Episode, Stats], ...] = ()


@dataclass(frozen=True, slots=True)
class _State:
    """A dataset as it was before its last episode was saved."""

    meta: DatasetMetadata
    data: _GrowingData
    rows: _GrowingRows
    videos: dict[str, _GrowingVideo]


class DatasetWriter:
    """Appends episodes to a dataset. An episode is part of it once `save_episode` returns, and not before.

    Every file is replaced as a whole, and `info.json`, which counts the episodes, is written last: if the writer is
    killed, readers still see all episodes that it saved.
    """

    def __init__(self, meta: DatasetMetadata, lock: int, encoding: VideoEncoding | None = None) -> None:
        """Use `create` or `resume`; `lock` keeps other writers away."""
        self.meta = meta
        self._encoding = encoding or VideoEncoding()
        self._lock = lock
        self._draft: EpisodeDraft | None = None
        self._data = _GrowingData(FileSlot())
        self._videos = {key: _GrowingVideo(FileSlot()) for key in meta.info.video_keys}
        self._rows = _GrowingRows(FileSlot())
        self._before: _State | None = None

    @classmethod
    def create(cls, root: Path | str, info: DatasetInfo, encoding: VideoEncoding | None = None) -> DatasetWriter:
        """Start a new dataset in a folder that does not exist yet, or is empty."""
        root = Path(root)
        check_features(info.features)
        encoding = encoding or VideoEncoding()
        for name in info.video_keys:
            encoding.check_size(name, *info.features[name].size)
        info = replace(info, features={**encoding.described(info.features, info.fps), **INDEX_FEATURES})
        try:
            root.mkdir(parents=True)
        except FileExistsError:
            if _holds_something(root):
                raise UsageError(f"{root} already exists; choose another folder, or `resume` it") from None
        lock = lock_folder(root)
        write_info(root, info)
        return cls(DatasetMetadata(root, info), lock, encoding)

    @classmethod
    def resume(cls, root: Path | str, encoding: VideoEncoding | None = None) -> DatasetWriter:
        """Append to a dataset, after its last complete episode."""
        root = Path(root)
        read_info(root)  # raises if it is not a dataset
        lock = lock_folder(root)
        try:
            meta = read_metadata(root)  # after the lock: another writer may just have ended
            if not meta.info.codebase_version.startswith("v3."):
                raise UsageError(
                    f"{root} has version {meta.info.codebase_version}; convert it first with `yardarm dataset convert`"
                )
            if not os.path.samestat(os.fstat(lock), root.stat()):
                raise UsageError(f"{root} was replaced while it was being opened; try again")
            writer = cls(meta, lock, encoding)
            writer._pick_up()
        except BaseException:
            os.close(lock)
            raise
        return writer

    @property
    def root(self) -> Path:
        """The dataset's folder."""
        return self.meta.root

    @property
    def num_episodes(self) -> int:
        """Number of saved episodes."""
        return self.meta.total_episodes

    @property
    def num_frames(self) -> int:
        """Number of saved frames."""
        return self.meta.total_frames

    def add_frame(self, frame: Mapping[str, Any]) -> None:
        """Append a frame to the current episode: a value for each feature, and the instruction as "task"."""
        if self._draft is None:
            self._draft = self.draft()
        self._draft.add_frame(frame)

    def save_episode(self) -> Episode:
        """Append the current episode to the dataset."""
        draft, self._draft = self.draft() if self._draft is None else self._draft, None
        return self.save(draft)

    def clear_episode_buffer(self) -> None:
        """Discard the current episode."""
        if self._draft is not None:
            self._draft.close()
            self._draft = None

    def finalize(self) -> None:
        """Release the dataset, and discard an episode that was not saved. Saved episodes are complete without this."""
        if self._draft is not None and len(self._draft):
            log.warning("%s: discarding %d frames that were added but not saved", self.root, len(self._draft))
        self.clear_episode_buffer()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> DatasetWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.finalize()

    def draft(self, name: str = "") -> EpisodeDraft:
        """Start an episode that is recorded independently of others; `save` adds it to the dataset.

        One with a name is kept as far as it was cut, and can be continued.
        """
        self._check_open()
        return EpisodeDraft(self.root, self.meta.info, self._encoding, name)

    def save(self, draft: EpisodeDraft, measured: MeasuredTimes | None = None) -> Episode:
        """Append an episode to the dataset, and beside it the times that were measured, if there are any."""
        try:
            self._check_open()
            if not len(draft):
                raise UsageError("an episode without frames cannot be saved; call add_frame first")
            if measured is not None:
                assert len(measured) == len(draft)
                write_measured(self.root, self.num_episodes, measured)
            return self._save(draft)
        finally:
            draft.close()

    def remove_last(self) -> None:
        """Remove the episode that was saved last, by this writer; only one can be removed before another is saved."""
        self._check_open()
        if self._before is None:
            raise UsageError("there is no episode that could be removed; `yardarm dataset delete` removes any")
        before, self._before = self._before, None
        write_info(self.root, before.meta.info)  # from here on, readers do not see the episode
        write_stats(self.root, before.meta.stats)
        self.meta, self._data, self._rows = before.meta, before.data, before.rows
        self._videos = before.videos
        self._trim_files()

    def _trim_files(self) -> None:
        """Remove what the files have beyond the last episode."""
        meta, info = self.meta, self.meta.info
        self._remove_later_files()
        if not meta.episodes:
            tasks_file(self.root).unlink()
            return
        if self._rows.rows:
            write_episodes(self.root, self._rows.slot, self._rows.rows)
        if self._data.tables:
            path = data_file(self.root, info, self._data.slot)
            write_row_groups(path, self._data.tables[0].schema, self._data.tables)
        write_tasks(self.root, meta.tasks)
        for key, growing in self._videos.items():
            if not growing.frames:
                continue
            path = video_file(self.root, info, key, growing.slot)
            join_segments([Segment(path, 0.0, growing.frames, info.fps)], path)

    def _check_open(self) -> None:
        if self._lock < 0:
            raise UsageError(f"the writer of {self.root} is closed; open another with `resume`")

    def _save(self, draft: EpisodeDraft) -> Episode:
        meta, info, length = self.meta, self.meta.info, len(draft)
        tasks = tuple(dict.fromkeys((*meta.tasks, *draft.tasks)))
        videos = draft.finish_videos()
        columns = {**draft.columns(), **self._index_columns(draft.tasks, tasks)}
        stats = {**draft.stats(columns), **{name: number_stats(columns[name]) for name in INDEX_FEATURES}}
        start = info.total_frames

        data = self._write_data(frames_table(info.features, columns))
        grown = {key: self._write_video(key, path, length) for key, path in videos.items()}
        places = {
            key: VideoPlace(own.slot, (own.frames - length) / info.fps, own.frames / info.fps)
            for key, own in grown.items()
        }
        own_tasks = tuple(dict.fromkeys(draft.tasks))
        episode = Episode(info.total_episodes, own_tasks, start, start + length, data.slot, places)
        if tasks != meta.tasks:
            write_tasks(self.root, tasks)
        rows = self._write_row(episode, stats)
        whole = aggregate([meta.stats, stats]) if meta.stats else stats
        write_stats(self.root, whole)
        info = info.grown(info.total_episodes + 1, start + length, len(tasks))
        write_info(self.root, info)  # from here on, readers see the episode

        self._before = _State(meta, self._data, self._rows, self._videos)
        self._data, self._rows, self._videos = data, rows, {**self._videos, **grown}
        self.meta = DatasetMetadata(self.root, info, tasks, (*meta.episodes, episode), whole)
        return episode

    def _index_columns(self, own: Sequence[str], tasks: Sequence[str]) -> dict[str, np.ndarray]:
        info, frames = self.meta.info, np.arange(len(own))
        return {
            "timestamp": (frames / info.fps).astype(np.float32),
            "frame_index": frames,
            "episode_index": np.full(len(own), info.total_episodes),
            "index": info.total_frames + frames,
            "task_index": np.array([tasks.index(task) for task in own]),
        }

    def _write_data(self, table: pa.Table) -> _GrowingData:
        info, growing = self.meta.info, self._data
        limit = min(info.data_files_size_in_mb * MB, GROWING_DATA)
        is_full = len(growing.tables) >= GROWING_EPISODES
        if growing.tables and (is_full or growing.size + _stored_size(table) > limit):
            growing = _GrowingData(growing.slot.next(info.chunks_size))
        tables = (*growing.tables, table)
        path = data_file(self.root, info, growing.slot)
        write_row_groups(path, table.schema, tables)
        return _GrowingData(growing.slot, tables, path.stat().st_size)

    def _write_video(self, key: str, path: Path, length: int) -> _GrowingVideo:
        info, growing = self.meta.info, self._videos[key]
        limit = min(info.video_files_size_in_mb * MB, GROWING_VIDEO)
        target = video_file(self.root, info, key, growing.slot)
        if growing.frames and (
            growing.size + path.stat().st_size > limit or kind_of_video(target) != kind_of_video(path)
        ):
            growing = _GrowingVideo(growing.slot.next(info.chunks_size))
            target = video_file(self.root, info, key, growing.slot)
        before = [Segment(target, 0.0, growing.frames, info.fps)] if growing.frames else []
        join_segments([*before, Segment(path, 0.0, length, info.fps)], target)
        return _GrowingVideo(growing.slot, growing.frames + length, target.stat().st_size)

    def _write_row(self, episode: Episode, stats: Stats) -> _GrowingRows:
        growing = self._rows
        if len(growing.rows) >= GROWING_EPISODES:
            growing = _GrowingRows(growing.slot.next(self.meta.info.chunks_size))
        rows = (*growing.rows, (replace(episode, row=growing.slot), stats))
        write_episodes(self.root, growing.slot, rows)
        return _GrowingRows(growing.slot, rows)

    def _pick_up(self) -> None:
        """Find the files that may still grow, and remove what a killed writer left beyond the last episode."""
        meta, info = self.meta, self.meta.info
        self._sweep()
        if not meta.episodes:
            return
        last = meta.episodes[-1]
        self._data = self._growing_data(last)
        self._rows = self._growing_rows(last)
        self._videos = {key: self._growing_video(key, last.videos[key].slot) for key in info.video_keys}

    def _growing_data(self, last: Episode) -> _GrowingData:
        path = self.meta.data_file(last)
        slot, size = last.data, path.stat().st_size
        next_file = _GrowingData(slot.next(self.meta.info.chunks_size))
        schema = arrow_schema(self.meta.info.features)
        if size > GROWING_DATA:  # another program's large file is left alone instead of read into memory
            return next_file
        try:
            table = read_table(path).select(schema.names).cast(schema)
        except (pa.ArrowException, ValueError):  # another program's types
            return next_file
        own = [episode.index for episode in self.meta.episodes if episode.data == slot]
        numbers = table["episode_index"]
        return _GrowingData(slot, tuple(table.filter(pa.compute.equal(numbers, index)) for index in own), size)

    def _growing_video(self, key: str, slot: FileSlot) -> _GrowingVideo:
        """The last file, if it holds exactly its episodes' frames in order; other programs' files may hold more."""
        info, frames = self.meta.info, 0
        for episode in self.meta.episodes:
            if episode.videos[key].slot == slot:
                if round(episode.videos[key].start_s * info.fps) != frames:
                    return _GrowingVideo(slot.next(info.chunks_size))
                frames += episode.length
        return _GrowingVideo(slot, frames, video_file(self.root, info, key, slot).stat().st_size)

    def _growing_rows(self, last: Episode) -> _GrowingRows:
        known = {episode.index: episode for episode in self.meta.episodes if episode.row == last.row}
        if len(known) >= GROWING_EPISODES:
            return _GrowingRows(last.row.next(self.meta.info.chunks_size))
        stats = dict(read_episode_stats(self.root, self.meta.info))
        return _GrowingRows(last.row, tuple((episode, stats[index]) for index, episode in sorted(known.items())))

    def _sweep(self) -> None:
        """Remove what a killed writer left: half-written files, drafts, and files after the last ones."""
        root = self.root
        for folder in ("meta", "data", "videos"):
            for path in (root / folder).rglob(f".*{TEMPORARY}"):
                path.unlink(missing_ok=True)
        for path in root.glob(".draft-*"):
            path.unlink(missing_ok=True)
        self._remove_later_files()

    def _remove_later_files(self) -> None:
        """Remove the files after the last ones."""
        root, info, episodes = self.root, self.meta.info, self.meta.episodes
        remove_measured(root, len(episodes))

        def next_of(slots: Iterable[FileSlot]) -> FileSlot:
            return max(slots).next(info.chunks_size) if episodes else FileSlot()

        # LeRobot reads all rows of episodes, whatever `info.json` counts: what a row names must be there.
        episodes_file(root, next_of(episode.row for episode in episodes)).unlink(missing_ok=True)
        data_file(root, info, next_of(episode.data for episode in episodes)).unlink(missing_ok=True)
        for key in info.video_keys:
            slot = next_of(episode.videos[key].slot for episode in episodes)
            video_file(root, info, key, slot).unlink(missing_ok=True)


def _holds_something(root: Path) -> bool:
    """Whether a folder has files in it, apart from the hidden ones that a killed writer leaves."""
    return not root.is_dir() or any(not path.is_dir() and not path.name.startswith(".") for path in root.rglob("*"))


def _stored_size(table: pa.Table) -> int:
    """The bytes that an episode takes in a file, encoded and compressed."""
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="snappy", use_dictionary=True)
    return buffer.tell()
