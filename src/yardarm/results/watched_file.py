"""Notices when a file that is being written, or its folder, is not where it was any more.

What is written to a deleted file is lost, and nothing fails: the descriptor is as good as ever. So it is compared with
what its path leads to now, which takes a few microseconds.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO

__all__ = ["WatchedFile"]


class WatchedFile:
    """An open file and the folder that it lies in; as long as both are held, their inodes are nobody else's."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self.path = path
        self._file = file
        self._folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)

    def close(self) -> None:
        """Let go of the folder; the file is its owner's to close."""
        os.close(self._folder)

    @property
    def in_place(self) -> bool:
        """Whether the path leads to the open file, or at least to the very same content.

        Some network file systems number their files anew now and then; a file that was replaced soon has another size.
        """
        return _is_at(self._file.fileno(), self.path) or _is_alike(self._file.fileno(), self.path)

    @property
    def has_folder(self) -> bool:
        """Whether the folder is where it was."""
        return _is_at(self._folder, self.path.parent) or self.in_place

    def moved_to(self) -> Path | None:
        """The folder's new place, if it was moved with the file in it; None if either was deleted, or nobody says."""
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
