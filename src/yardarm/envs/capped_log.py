"""Keeps simulators' output from filling the disk."""

from __future__ import annotations

from pathlib import Path

__all__ = ["CappedLog"]

LARGEST = 10_000_000
FIRST_PART = 5_000_000
LAST_PART = 1_000_000


class CappedLog:
    """A log that other processes append to; its middle is cut out when it grows too large.

        workers ── write, O_APPEND ──▶ first 5 MB │ [… left out …] │ last 1 MB, growing
        the pool ── look() now and then ──▶ cuts out the middle at 10 MB

    Writers always append at the current end, so the cut does not disturb them. Only what is written at the moment of
    the cut is lost.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._left_out = 0

    def look(self) -> None:
        """Cut the log if it has grown too large."""
        try:
            size = self._path.stat().st_size
            if size > LARGEST:
                self._cut(size)
        except FileNotFoundError:  # nothing has been written yet, or the log was deleted
            pass

    def _cut(self, size: int) -> None:
        self._left_out += size - FIRST_PART - LAST_PART
        with self._path.open("r+b") as file:
            file.seek(size - LAST_PART)
            last = file.read()
            file.truncate(FIRST_PART)
        note = f"\n[yardarm: {self._left_out:,} bytes are left out here: this log is limited to {LARGEST:,}]\n"
        with self._path.open("ab") as file:
            file.write(note.encode() + last)
