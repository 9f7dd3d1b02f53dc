"""Plays finished episodes again from their seeds and actions, on all workers, and checks that they go the same way."""

from __future__ import annotations

import select
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from yardarm.envs import MemoryLayout, Pool, TaskWorkers, Worker, looks_of
from yardarm.envs.messages import Begin, Died, Failed, Film, Finish, Finished, Play, Report, Rollout, Seen
from yardarm.errors import UsageError
from yardarm.policies import Look, PlayableChunk
from yardarm.results import EpisodeRecord, PlayedEpisode, RunFolder
from yardarm.tasks import EpisodeSpec

__all__ = ["Audience", "Ending", "Playback"]

ATTEMPTS = 3


class Recorded(Protocol):
    """An episode that was played, and where what was played is kept."""

    @property
    def folder(self) -> RunFolder:
        """The run."""

    @property
    def episode(self) -> EpisodeSpec:
        """What to play."""

    @property
    def record(self) -> EpisodeRecord:
        """How it went."""


class Audience(Protocol):
    """Watches one attempt at an episode."""

    layout: MemoryLayout
    """Room for what it looks at."""
    film: Film | None

    def chunks(self, played: PlayedEpisode) -> Iterator[PlayableChunk]:
        """Deal out the actions, and say when to look; at the beginning, all that has room is looked at."""

    def see(self, looks: Sequence[Look]) -> None:
        """Looks whose arrays will be written again: copy what you keep."""

    def take_frame(self, frame: np.ndarray) -> None:
        """A frame of the film."""

    def leave(self) -> None:
        """The attempt came to nothing."""


Item = TypeVar("Item", bound=Recorded)
Watcher = TypeVar("Watcher", bound=Audience)


@dataclass(frozen=True, slots=True)
class Ending(Generic[Item, Watcher]):
    """An episode was played to its end, and watched; or why it was not."""

    item: Item
    watcher: Watcher | None
    diverged_at: int | None = None
    """The first step whose recorded fingerprint the replay does not have."""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class _Turn(Generic[Item]):
    number: int
    item: Item
    attempt: int = 1


class Playback(Generic[Item, Watcher]):
    """Iterate over it to play everything; endings come in the order in which episodes end. What fails is tried again.

    `until` is a descriptor: as soon as it can be read, what is not finished is given up. No episode begins as long as
    the `ahead`-th before it has not ended.
    """

    def __init__(
        self,
        items: Iterable[Item],
        watch: Callable[[Item], Watcher],
        pool: Pool,
        until: int | None = None,
        ahead: int = sys.maxsize,
    ) -> None:
        self._waiting = deque(_Turn(number, item) for number, item in enumerate(items))
        self._watch = watch
        self._pool = pool
        self._until = [] if until is None else [until]
        self._ahead = ahead
        self._running: dict[Worker, _Running[Item, Watcher]] = {}
        self._workers = TaskWorkers(pool)

    def __iter__(self) -> Generator[Ending[Item, Watcher]]:
        try:
            while self._waiting or self._running:
                yield from self._assign()
                reports = self._pool.wait(self._until) if self._running else []
                if self._until and select.select(self._until, [], [], 0)[0]:
                    return
                for worker, report in reports:
                    ending = self._hear(worker, report)
                    if ending is not None:
                        yield ending
        finally:
            for running in self._running.values():
                running.watcher.leave()

    def _assign(self) -> Iterator[Ending[Item, Watcher]]:
        """Give every free place an episode, as far as they may be ahead of the first that runs."""
        while self._waiting and len(self._running) < self._pool.size:
            first = min((running.turn.number for running in self._running.values()), default=0)
            if self._running and self._waiting[0].number - first >= self._ahead:
                return
            turn = self._waiting.popleft()
            try:
                played = turn.item.folder.load_played(turn.item.record.key)
            except UsageError as error:  # they are missing or damaged
                yield Ending(turn.item, None, error=str(error))
            else:
                self._begin(turn, played)

    def _begin(self, turn: _Turn[Item], played: PlayedEpisode) -> None:
        watcher = self._watch(turn.item)
        try:
            worker = self._workers.take(turn.item.episode.task, watcher.layout)
        except BaseException:
            watcher.leave()
            raise
        worker.on_frame = watcher.take_frame
        self._running[worker] = _Running(turn, worker, watcher, watcher.chunks(played))
        worker.order(Begin(turn.item.episode, tuple(watcher.layout.inputs), watcher.film))

    def _hear(self, worker: Worker, report: Report) -> Ending[Item, Watcher] | None:
        running = self._running.get(worker)
        if running is None:  # an idle worker died
            self._workers.dismiss(worker)
            return None
        turn, watcher = running.turn, running.watcher
        if isinstance(report, Failed | Died):
            del self._running[worker]
            self._workers.dismiss(worker)
            watcher.leave()
            if turn.attempt < ATTEMPTS:
                self._waiting.appendleft(_Turn(turn.number, turn.item, turn.attempt + 1))
                return None
            reason = report.traceback if isinstance(report, Failed) else report.reason
            return Ending(turn.item, None, error=reason.strip().splitlines()[-1])
        rollout = running.go_on(report)
        if rollout is None:
            return None
        del self._running[worker]
        self._workers.keep(worker)
        return Ending(turn.item, watcher, _divergence(turn.item.record, rollout))


@dataclass(frozen=True, slots=True, eq=False)
class _Running(Generic[Item, Watcher]):
    """An episode on its worker."""

    turn: _Turn[Item]
    worker: Worker
    watcher: Watcher
    chunks: Iterator[PlayableChunk]

    def go_on(self, report: Report) -> Rollout | None:
        """Play all actions, then have the worker tell of it, whether or not the episode has ended by itself."""
        match report:
            case Seen():
                self.watcher.see(looks_of(self.worker, report))
                chunk = next(self.chunks, None)
                self.worker.order(Finish() if chunk is None else Play.of(chunk))
            case Finished(rollout):
                return rollout
        return None


def _divergence(record: EpisodeRecord, rollout: Rollout) -> int | None:
    for step, recorded in sorted((int(step), value) for step, value in record.fingerprints.items()):
        if rollout.fingerprints.get(step) != recorded:
            return step
    return None
