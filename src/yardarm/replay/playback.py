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

__all__ = ["Playback", "PlaybackResult", "Watcher"]

MOST_ATTEMPTS = 3


class RecordedEpisode(Protocol):
    """An episode that was played, and the run that has its actions."""

    @property
    def folder(self) -> RunFolder:
        """The run."""

    @property
    def episode(self) -> EpisodeSpec:
        """What to play."""

    @property
    def record(self) -> EpisodeRecord:
        """How it went."""


class Watcher(Protocol):
    """Watches one attempt at an episode."""

    layout: MemoryLayout
    """Room for what it looks at."""
    film: Film | None

    def chunks(self, played: PlayedEpisode) -> Iterator[PlayableChunk]:
        """Deal out the actions, and say when to look; at the beginning, all that has room is looked at."""

    def see(self, looks: Sequence[Look]) -> None:
        """Looks whose arrays are overwritten later: copy what you keep."""

    def take_frame(self, frame: np.ndarray) -> None:
        """A frame of the film."""

    def discard(self) -> None:
        """The attempt failed: throw away what was made of it."""


EpisodeT = TypeVar("EpisodeT", bound=RecordedEpisode)
WatcherT = TypeVar("WatcherT", bound=Watcher)


@dataclass(frozen=True, slots=True)
class PlaybackResult(Generic[EpisodeT, WatcherT]):
    """An episode was played to its end, and watched; or why it was not."""

    recorded: EpisodeT
    watcher: WatcherT | None
    diverged_at: int | None = None
    """The first step whose recorded fingerprint the replay does not have."""
    error: str | None = None


@dataclass(frozen=True, slots=True)
class _Attempt(Generic[EpisodeT]):
    place: int
    """The episode's place in the order that was asked for."""
    recorded: EpisodeT
    number: int = 1


class Playback(Generic[EpisodeT, WatcherT]):
    """Iterate over it to play everything; results come in the order in which episodes end. What fails is tried again.

    `until` is a descriptor: as soon as it can be read, what is not finished is given up. No episode begins until the
    one `ahead` places before it has ended.
    """

    def __init__(
        self,
        episodes: Iterable[EpisodeT],
        watch: Callable[[EpisodeT], WatcherT],
        pool: Pool,
        until: int | None = None,
        ahead: int = sys.maxsize,
    ) -> None:
        self._waiting = deque(_Attempt(place, recorded) for place, recorded in enumerate(episodes))
        self._watch = watch
        self._pool = pool
        self._until = [] if until is None else [until]
        self._ahead = ahead
        self._running: dict[Worker, _Running[EpisodeT, WatcherT]] = {}
        self._workers = TaskWorkers(pool)

    def __iter__(self) -> Generator[PlaybackResult[EpisodeT, WatcherT]]:
        try:
            while self._waiting or self._running:
                yield from self._assign()
                reports = self._pool.wait(self._until) if self._running else []
                if self._until and select.select(self._until, [], [], 0)[0]:
                    return
                for worker, report in reports:
                    result = self._hear(worker, report)
                    if result is not None:
                        yield result
        finally:
            for running in self._running.values():
                running.watcher.discard()

    def _assign(self) -> Iterator[PlaybackResult[EpisodeT, WatcherT]]:
        """Give every free place an episode, as far as they may be ahead of the first that runs."""
        while self._waiting and len(self._running) < self._pool.size:
            first = min((running.attempt.place for running in self._running.values()), default=0)
            if self._running and self._waiting[0].place - first >= self._ahead:
                return
            attempt = self._waiting.popleft()
            try:
                played = attempt.recorded.folder.load_played(attempt.recorded.record.key)
            except UsageError as error:  # they are missing or damaged
                yield PlaybackResult(attempt.recorded, None, error=str(error))
            else:
                self._begin(attempt, played)

    def _begin(self, attempt: _Attempt[EpisodeT], played: PlayedEpisode) -> None:
        episode, watcher = attempt.recorded.episode, self._watch(attempt.recorded)
        try:
            worker = self._workers.take(episode.task, watcher.layout)
        except BaseException:
            watcher.discard()
            raise
        worker.on_frame = watcher.take_frame
        self._running[worker] = _Running(attempt, worker, watcher, watcher.chunks(played))
        worker.order(Begin(episode, tuple(watcher.layout.inputs), watcher.film))

    def _hear(self, worker: Worker, report: Report) -> PlaybackResult[EpisodeT, WatcherT] | None:
        running = self._running.get(worker)
        if running is None:  # a worker died that was kept for another episode
            self._workers.dismiss(worker)
            return None
        attempt, watcher = running.attempt, running.watcher
        if isinstance(report, Failed | Died):
            del self._running[worker]
            self._workers.dismiss(worker)
            watcher.discard()
            if attempt.number < MOST_ATTEMPTS:
                self._waiting.appendleft(_Attempt(attempt.place, attempt.recorded, attempt.number + 1))
                return None
            reason = report.traceback if isinstance(report, Failed) else report.reason
            return PlaybackResult(attempt.recorded, None, error=reason.strip().splitlines()[-1])
        rollout = running.go_on(report)
        if rollout is None:
            return None
        del self._running[worker]
        self._workers.keep(worker)
        return PlaybackResult(attempt.recorded, watcher, _divergence(attempt.recorded.record, rollout))


@dataclass(frozen=True, slots=True, eq=False)
class _Running(Generic[EpisodeT, WatcherT]):
    """An episode on its worker."""

    attempt: _Attempt[EpisodeT]
    worker: Worker
    watcher: WatcherT
    chunks: Iterator[PlayableChunk]

    def go_on(self, report: Report) -> Rollout | None:
        """Play all actions, then have the worker report the rollout, even if the episode has not ended by itself."""
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
