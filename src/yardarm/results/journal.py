"""The journal of a run: one line per finished episode, on disk before the episode is counted."""

from __future__ import annotations

import fcntl
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType

from yardarm.contents import parse_json
from yardarm.errors import StorageFault, UsageError
from yardarm.files import sync
from yardarm.results.record import EpisodeKey, EpisodeRecord
from yardarm.results.watched_file import WatchedFile

__all__ = ["Journal", "journal_lines", "read_journal"]


def read_journal(path: Path) -> Iterator[EpisodeRecord]:
    """Read the records of a journal; skip a last line that a crash left incomplete."""
    if not path.exists():
        return
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    for number, line in enumerate(lines, start=1):
        if not line or number == len(lines):  # anything after the last newline is an incomplete line
            continue
        try:
            yield EpisodeRecord.from_json(parse_json(line))
        except ValueError as error:
            raise UsageError(
                f"{path} is damaged at line {number}: {error}; remove that line, and its episode runs again"
            ) from error


def journal_lines(records: Iterable[EpisodeRecord]) -> bytes:
    """Records as lines of a journal."""
    return b"".join(json.dumps(record.to_json(), ensure_ascii=False).encode() + b"\n" for record in records)


class Journal:
    """An append-only file, which one process at a time may open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: dict[EpisodeKey, EpisodeRecord] = {}
        self.refuge: Path | None = None
        """The file that the records are saved to instead, if this one was deleted or replaced."""
        try:
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}; choose another --output_dir") from error
        self._lock()
        self.watched = WatchedFile(path, self._file)
        try:
            self._repair()
            sync(path.parent)
            self.records.update((record.key, record) for record in read_journal(path))
        except BaseException:
            self.close()
            raise

    def append(self, record: EpisodeRecord) -> None:
        """Write a record to disk, then count it. A later record of the same episode replaces an error."""
        self.extend([record])

    def extend(self, records: Sequence[EpisodeRecord]) -> None:
        """Write several records at once, which takes no longer than one; a crash may keep only the first ones."""
        self.check_place()
        self.write_on(records)

    def check_place(self) -> None:
        """Raise `StorageFault` if the file is no longer at its path: what is written to it would be lost."""
        if not self.watched.in_place:
            raise StorageFault(f"{self.path} was deleted, moved or replaced while it was being written")

    def write_on(self, records: Sequence[EpisodeRecord]) -> None:
        """Write to the open file, wherever it is now."""
        lines = journal_lines(records)
        while lines:  # a write may be partial, for example when the disk is full
            lines = lines[self._file.write(lines) :]
        os.fsync(self._file.fileno())
        self.records.update((record.key, record) for record in records)

    def finished(self) -> set[EpisodeKey]:
        """The episodes that need not run again. Errors are retried when a run is resumed."""
        return {key for key, record in self.records.items() if record.status != "error"}

    def close(self) -> None:
        """Close the file, so that other processes can open it."""
        self.watched.close()
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise UsageError(
                f"another process is writing to {self.path.parent}; wait until it has finished, or choose another "
                "--output_dir"
            ) from None
        except OSError as error:  # some network file systems
            warnings.warn(
                f"{self.path.parent} cannot be locked ({error.strerror}); make sure that no other process writes to it",
                stacklevel=3,
            )

    def _repair(self) -> None:
        """Cut off a last line that a crash left unfinished."""
        content = self.path.read_bytes()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            self._file.truncate(whole)
            os.fsync(self._file.fileno())
