"""Keeps finished episodes on the disk while others go on."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, BinaryIO

from yardarm.errors import StorageFault
from yardarm.files import sync, sync_all
from yardarm.results.files import PlayedEpisode, RunFolder
from yardarm.results.journal import Journal
from yardarm.results.record import EpisodeRecord
from yardarm.results.rescue import rescue

__all__ = ["EpisodeWriter", "FinishedEpisode"]

FLUSHES_AT_ONCE = 8
# Of those that are written and not yet flushed: a thousand workers have a thousand sockets open already.
OPEN_FILES = 64
# From so many on, one flush of the file system costs less than one of each file and folder.
TOGETHER = 16
# A group costs a millisecond or two of CPU time, however small it is: a thousand workers would fill a core with that.
GROUP_EVERY_S = 0.05


@dataclass(frozen=True, slots=True)
class FinishedEpisode:
    """An episode, and where it belongs."""

    record: EpisodeRecord
    played: PlayedEpisode | None
    """None of one that ended in an error."""
    folder: RunFolder
    journal: Journal
    owner: Any = None
    """Whoever handed it over knows it by this."""

    @property
    def is_written(self) -> bool:
        """Whether its line is in the journal."""
        return self.journal.records.get(self.record.key) is self.record


class EpisodeWriter:
    """Writes in a thread of its own: what was played first, then the journal's lines.

    To flush a file takes milliseconds, and many at once take little longer than one: all that waits is written as a
    group, and the next group begins a moment later at the earliest. So with few workers each episode is written by
    itself and at once, and with a thousand there are dozens at a time.
    """

    def __init__(self) -> None:
        self._waiting: SimpleQueue[FinishedEpisode | None] = SimpleQueue()
        self._written: SimpleQueue[list[FinishedEpisode] | BaseException] = SimpleQueue()
        self.descriptor, self._bell = os.pipe()
        """Readable when there is something to collect."""
        self._failure: BaseException | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self._thread.start()

    def put(self, episode: FinishedEpisode) -> None:
        """Have an episode written."""
        self._waiting.put(episode)

    def collect(self) -> list[FinishedEpisode]:
        """What has come to the disk since the last call; a failure is raised when all before it was collected."""
        self.check()
        return self._collected()

    def _collected(self) -> list[FinishedEpisode]:
        found: list[FinishedEpisode] = []
        while not self._written.empty():
            written = self._written.get()
            os.read(self.descriptor, 1)
            if isinstance(written, BaseException):
                self._failure = written
            else:
                found += written
        return found

    def check(self) -> None:
        """Raise what has gone wrong, if anything has."""
        if self._failure is not None:
            raise self._failure

    def close(self) -> list[FinishedEpisode]:
        """Wait until all is on the disk, and return what has not been collected."""
        self._waiting.put(None)
        self._closing.set()
        self._thread.join()
        found = self._collected()
        os.close(self.descriptor)
        os.close(self._bell)
        return found

    def _work(self) -> None:
        with ThreadPoolExecutor(FLUSHES_AT_ONCE) as threads:
            last = False
            while not last:
                group, last = self._next_group()
                began = time.monotonic()
                try:
                    write_group(group, threads)
                    self._written.put(group)
                except StorageFault as error:  # what follows is saved elsewhere, too, and the last one counts them all
                    self._written.put(error)
                except BaseException as error:
                    self._written.put(error)
                    last = True
                os.write(self._bell, b"!")
                self._closing.wait(max(0.0, began + GROUP_EVERY_S - time.monotonic()))

    def _next_group(self) -> tuple[list[FinishedEpisode], bool]:
        """All that waits, and whether that is the end."""
        group = [self._waiting.get()]
        while not self._waiting.empty():
            group.append(self._waiting.get())
        return [episode for episode in group if episode is not None], None in group


def write_group(episodes: Sequence[FinishedEpisode], threads: Executor) -> None:
    """Write episodes to their folders; where one has been deleted or moved, save them elsewhere, and raise."""
    try:
        _write(episodes, threads)
    except (OSError, StorageFault):
        displaced = [journal for journal in _journals(episodes) if not journal.watched.in_place]
        if not displaced:
            raise
        _write([own for own in episodes if own.journal not in displaced and not own.is_written], threads)
        faults = [
            rescue(journal, [(own.record, own.played) for own in episodes if own.journal is journal])
            for journal in displaced
        ]
        raise faults[0] from None


def _write(episodes: Sequence[FinishedEpisode], threads: Executor) -> None:
    """Write what was played, and when that is on the disk the journals' lines."""
    journals = _journals(episodes)
    for journal in journals:
        journal.check_place()
    _write_played(episodes, threads)
    for journal in journals:
        journal.extend([own.record for own in episodes if own.journal is journal])


def _journals(episodes: Sequence[FinishedEpisode]) -> list[Journal]:
    return list({episode.journal.path: episode.journal for episode in episodes}.values())


def _write_played(episodes: Sequence[FinishedEpisode], threads: Executor) -> None:
    played = [(episode.folder.actions(episode.record.key), episode.played) for episode in episodes if episode.played]
    folders = {path.parent for path, _ in played}
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    if len(played) < TOGETHER or not _write_together(played):
        for first in range(0, len(played), OPEN_FILES):
            _write_files(played[first : first + OPEN_FILES], threads)
        _wait_for([threads.submit(sync, folder) for folder in folders])


def _write_together(played: Sequence[tuple[Path, PlayedEpisode]]) -> bool:
    """Write many, and flush them all by one call; false where there is none."""
    for path, own in played:
        path.write_bytes(own.content())
    return sync_all(played[0][0].parent)


def _write_files(played: Sequence[tuple[Path, PlayedEpisode]], threads: Executor) -> None:
    """Write in this thread, because threads that write get into each other's way, and flush in many."""
    with contextlib.ExitStack() as stack:
        files = []
        for path, own in played:
            # In its place: the journal says that it is whole, so half of one harms nobody.
            files.append(stack.enter_context(path.open("wb")))
            files[-1].write(own.content())
            files[-1].flush()
        shares = [files[first::FLUSHES_AT_ONCE] for first in range(min(FLUSHES_AT_ONCE, len(files)))]
        _wait_for([threads.submit(_sync_files, share) for share in shares])


def _sync_files(files: Sequence[BinaryIO]) -> None:
    for file in files:
        os.fsync(file.fileno())


def _wait_for(futures: Sequence[Future[None]]) -> None:
    """Until all have ended, and then raise what the first of them raised, if any did."""
    wait(futures)
    for future in futures:
        future.result()
