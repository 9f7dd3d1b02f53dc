"""Writes finished episodes to disk while others run.

    scheduler's thread                        writer's thread
    put(episode) ──▶ queue, never blocks ──▶  takes all waiting episodes as a group
    select() on `descriptor` ◀─────────────┐  writes their actions, flushes them
    collect() ◀── written episodes         │  then appends their lines to the journal, flushes it
       only now do they count              └─ writes a byte to the pipe behind `descriptor`
    close() waits for the last group

A failure takes the same way: `collect` raises it after all episodes that were written before it.
"""

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
# The most files that are open at once, waiting to be flushed: a thousand workers already use a thousand sockets.
OPEN_FILES = 64
# From this many files on, flushing the file system once costs less than flushing each file and folder.
TOGETHER = 16
# A group costs a millisecond or two of CPU time, however small it is: without this pause, a thousand workers would keep
# a core busy.
GROUP_EVERY_S = 0.05


@dataclass(frozen=True, slots=True)
class FinishedEpisode:
    """An episode, and where it is stored."""

    record: EpisodeRecord
    played: PlayedEpisode | None
    """None if the episode ended in an error."""
    folder: RunFolder
    journal: Journal
    owner: Any = None
    """Returned unchanged, for the caller's use."""

    @property
    def is_written(self) -> bool:
        """Whether its line is in the journal."""
        return self.journal.records.get(self.record.key) is self.record


class EpisodeWriter:
    """Writes in its own thread: first the actions, then the journal's lines.

    Flushing a file takes milliseconds, and flushing many at once takes little longer. So all waiting episodes are
    written as a group, and the next group starts a moment later at the earliest. With few workers, each episode is
    written alone and immediately; with a thousand, dozens are written together.
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
        """Queue an episode for writing."""
        self._waiting.put(episode)

    def collect(self) -> list[FinishedEpisode]:
        """The episodes written since the last call; a failure is raised once all before it were collected."""
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
        """Raise the writer's failure, if there was one."""
        if self._failure is not None:
            raise self._failure

    def close(self) -> list[FinishedEpisode]:
        """Wait until everything is on disk, and return the episodes that were not collected yet."""
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
                except StorageFault as error:  # later groups are saved elsewhere too; the last fault counts all
                    self._written.put(error)
                except BaseException as error:
                    self._written.put(error)
                    last = True
                os.write(self._bell, b"!")
                self._closing.wait(max(0.0, began + GROUP_EVERY_S - time.monotonic()))

    def _next_group(self) -> tuple[list[FinishedEpisode], bool]:
        """All waiting episodes, and whether they are the last."""
        group = [self._waiting.get()]
        while not self._waiting.empty():
            group.append(self._waiting.get())
        return [episode for episode in group if episode is not None], None in group


def write_group(episodes: Sequence[FinishedEpisode], threads: Executor) -> None:
    """Write episodes to their folders; if a folder was deleted or moved, save them elsewhere and raise."""
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
    """Write the actions, and once they are on disk, the journals' lines."""
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
    """Write many files, and flush them with one call; false if the system has no such call."""
    for path, own in played:
        path.write_bytes(own.content())
    return sync_all(played[0][0].parent)


def _write_files(played: Sequence[tuple[Path, PlayedEpisode]], threads: Executor) -> None:
    """Write in this thread, because several writers slow each other down; flush in many."""
    with contextlib.ExitStack() as stack:
        files = []
        for path, own in played:
            # Written in place: half a file does no harm, since only the journal's line makes it count.
            files.append(stack.enter_context(path.open("wb")))
            files[-1].write(own.content())
            files[-1].flush()
        shares = [files[first::FLUSHES_AT_ONCE] for first in range(min(FLUSHES_AT_ONCE, len(files)))]
        _wait_for([threads.submit(_sync_files, share) for share in shares])


def _sync_files(files: Sequence[BinaryIO]) -> None:
    for file in files:
        os.fsync(file.fileno())


def _wait_for(futures: Sequence[Future[None]]) -> None:
    """Wait until all have ended, then raise the first error, if any."""
    wait(futures)
    for future in futures:
        future.result()
