"""Ticks on their way to the encoder: hidden files in the dataset's folder, a few megabytes each.

The reader removes a file when it has read it. If it keeps up, they are gone before the disk has seen them; if not,
they grow in number, and nothing is dropped.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from yardarm.datasets import SPOOL
from yardarm.recording.robot.tick_layout import Buffer

__all__ = ["SpoolReader", "SpoolWriter"]

FILE_SIZE = 16 * 2**20


def _path(folder: Path, owner: int, number: int) -> Path:
    return folder / f"{SPOOL}{owner}-{number:06d}.ticks"


def _ticks_in_file(size: int) -> int:
    return max(1, FILE_SIZE // size)


class SpoolWriter:
    """Appends ticks of one size."""

    def __init__(self, folder: Path, size: int) -> None:
        self.owner = os.getpid()
        self._folder, self._size = folder, size
        self._written = 0
        self._file: int | None = None

    def write(self, parts: Sequence[Buffer]) -> None:
        """Append a tick; when this returns, a reader can read it."""
        in_file = _ticks_in_file(self._size)
        if self._file is None:
            path = _path(self._folder, self.owner, self._written // in_file)
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        left = [memoryview(part).cast("B") for part in parts]
        while left:  # a nearly full disk takes a part of it
            taken = os.writev(self._file, left)
            while left and taken >= len(left[0]):
                taken -= len(left.pop(0))
            if left and taken:
                left[0] = left[0][taken:]
        self._written += 1
        if self._written % in_file == 0:
            self.close()

    def close(self) -> None:
        """Close the current file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


class SpoolReader:
    """Reads ticks in the order they were written, each once."""

    def __init__(self, folder: Path, size: int, owner: int) -> None:
        self._folder, self._size, self._owner = folder, size, owner
        self._read = 0
        self._file: IO[bytes] | None = None

    def read(self) -> bytearray:
        """The next tick, which has been written."""
        in_file = _ticks_in_file(self._size)
        path = _path(self._folder, self._owner, self._read // in_file)
        if self._file is None:
            self._file = path.open("rb", buffering=0)
        content = bytearray(self._size)
        view, at = memoryview(content), 0
        while at < self._size:
            got = self._file.readinto(view[at:])  # type: ignore[attr-defined]
            if not got:
                raise OSError(f"{path} is shorter than it was")
            at += got
        self._read += 1
        if self._read % in_file == 0:
            self._file.close()
            self._file = None
            path.unlink()
        return content

    def close(self) -> None:
        """Remove what is left."""
        if self._file is not None:
            self._file.close()
            self._file = None
        for path in self._folder.glob(f"{SPOOL}{self._owner}-*.ticks"):
            path.unlink(missing_ok=True)
