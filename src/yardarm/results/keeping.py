"""Keeps finished episodes on the disk while others go on."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from yardarm.files import write_all
from yardarm.results.files import PlayedEpisode, RunFolder
from yardarm.results.journal import Journal
from yardarm.results.record import EpisodeRecord

__all__ = ["Keeper", "KeptEpisode"]

WRITES_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class KeptEpisode:
    """An episode, and where it belongs."""

    record: EpisodeRecord
    played: PlayedEpisode | None
    """None of one that ended in an error."""
    folder: RunFolder
    journal: Journal
    owner: Any = None
    """Whoever handed it over knows it by this."""


class Keeper:
    """Writes in a thread of its own: what was played first, then the journal's lines.

    To flush a file takes milliseconds, and many at once take little longer than one: all that waits is written as a
    group. So with few workers each episode is written by itself, and with a thousand hundreds at a time.
    """

    def __init__(self) -> None:
        self._waiting: SimpleQueue[KeptEpisode | None] = SimpleQueue()
        self._written: SimpleQueue[KeptEpisode | BaseException] = SimpleQueue()
        self._pending = 0
        self._thread = threading.Thread(target=self._work, name="keeper", daemon=True)
        self._thread.start()

    def put(self, episode: KeptEpisode) -> None:
        """Have an episode written."""
        self._pending += 1
        self._waiting.put(episode)

    def collect(self) -> list[KeptEpisode]:
        """What is on the disk now; of one episode alone it is waited for, since nobody else is kept waiting."""
        found = [self._take()] if self._pending == 1 else []
        while not self._written.empty():
            found.append(self._take())
        return found

    def close(self) -> list[KeptEpisode]:
        """Wait until all is on the disk, and return what has not been collected."""
        self._waiting.put(None)
        self._thread.join()
        return [self._take() for _ in range(self._written.qsize())]

    def _take(self) -> KeptEpisode:
        written = self._written.get()
        if isinstance(written, BaseException):
            raise written
        self._pending -= 1
        return written

    def _work(self) -> None:
        with ThreadPoolExecutor(WRITES_AT_ONCE) as threads:
            while True:
                group = self._next_group()
                episodes = [episode for episode in group if episode is not None]
                try:
                    _write(episodes, threads)
                except BaseException as error:
                    self._written.put(error)
                    return
                for episode in episodes:
                    self._written.put(episode)
                if len(episodes) < len(group):
                    return

    def _next_group(self) -> list[KeptEpisode | None]:
        group = [self._waiting.get()]
        while not self._waiting.empty():
            group.append(self._waiting.get())
        return group


def _write(episodes: Sequence[KeptEpisode], threads: ThreadPoolExecutor) -> None:
    files = [
        (episode.folder.actions(episode.record.key), episode.played.write) for episode in episodes if episode.played
    ]
    write_all(files, threads)
    journals = {episode.journal.path: episode.journal for episode in episodes}
    for path, journal in journals.items():
        journal.extend([episode.record for episode in episodes if episode.journal.path == path])
