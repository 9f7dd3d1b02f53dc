"""Notices when a file that is being written, or its folder, is no longer at its path.

Writing to a deleted file loses the data without any error, because the descriptor stays valid. So the open file is
compared with the file at its path, which takes a few microseconds.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

__all__ = ["WatchedFile"]


class WatchedFile:
    """An open file and its folder; while both are open, the system cannot reuse their inodes."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self.path = path
        self._file = file
        self._folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)

    def close(self) -> None:
        """Close the folder; the caller closes the file."""
        os.close(self._folder)

    @property
    def in_place(self) -> bool:
        """Whether the path leads to the open file, or at least to one of the same size and time.

        Some network file systems change inode numbers now and then; a replaced file soon has another size.
        """
        return _is_at(self._file.fileno(), self.path) or _is_alike(self._file.fileno(), self.path)

    @property
    def has_folder(self) -> bool:
        """Whether the folder is still at its path."""
        return _is_at(self._folder, self.path.parent) or self.in_place

    def moved_to(self) -> Path | None:
        """The folder's new path, if it was moved with the file in it; None if either was deleted, or if unknown."""
        try:
            place = Path(os.readlink(f"/proc/self/fd/{self._folder}"))
        except OSError:
            return None
        whole = _is_at(self._folder, place) and _is_at(self._file.fileno(), place / self.path.name)
        return place if whole and place != self.path.parent.absolute() else None


def _is_alike(descriptor: int, path: Path) -> bool:
    try:
        own, other = os.fstat(descriptor), path.stat()
    except OSError:
        return False
    return (own.st_size, own.st_mtime_ns) == (other.st_size, other.st_mtime_ns)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False
