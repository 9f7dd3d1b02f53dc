"""Where a dataset's files are: numbered within chunks, so that no folder gets too many."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from yardarm.datasets.info import DatasetInfo
from yardarm.datasets.path_template import fill_template

__all__ = ["MB", "FileSlot", "data_file", "episodes_file", "rollouts_file", "tasks_file", "video_file"]

MB = 2**20


@dataclass(frozen=True, slots=True, order=True)
class FileSlot:
    """A file's number, and its chunk's number."""

    chunk: int = 0
    file: int = 0

    def next(self, chunks_size: int) -> FileSlot:
        """The next file."""
        if self.file + 1 < chunks_size:
            return FileSlot(self.chunk, self.file + 1)
        return FileSlot(self.chunk + 1, 0)


def data_file(root: Path, info: DatasetInfo, slot: FileSlot) -> Path:
    """A file of frames."""
    return root / fill_template(info.data_path, chunk_index=slot.chunk, file_index=slot.file)


def video_file(root: Path, info: DatasetInfo, key: str, slot: FileSlot) -> Path:
    """A file of a camera's videos."""
    assert info.video_path is not None
    return root / fill_template(info.video_path, video_key=key, chunk_index=slot.chunk, file_index=slot.file)


def episodes_file(root: Path, slot: FileSlot) -> Path:
    """A file of episode rows."""
    return root / "meta" / "episodes" / f"chunk-{slot.chunk:03d}" / f"file-{slot.file:03d}.parquet"


def rollouts_file(root: Path) -> Path:
    """Where each episode came from, one line per episode, if the recorder wrote it."""
    return root / "meta" / "rollouts.jsonl"


def tasks_file(root: Path) -> Path:
    """The file of numbered tasks."""
    return root / "meta" / "tasks.parquet"
