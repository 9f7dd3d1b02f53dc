"""Plays finished episodes again from their seeds and actions, checks that they go the same way, and films them."""

from __future__ import annotations

import contextlib
import select
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from yardarm.envs import MemoryLayout, ProcessPool, Worker
from yardarm.envs.messages import Begin, Died, Failed, Film, Finish, Finished, Order, Play, Report, Rollout, Seen
from yardarm.errors import UsageError
from yardarm.policies import PlayableChunk
from yardarm.results import EpisodeRecord, ReplayTrace, RunFolder, VideoWriter
from yardarm.tasks import EpisodeSpec

__all__ = ["Replay", "ReplayResult", "replay_all"]

ATTEMPTS = 3
ROBOT_STATE = "observation.state"


@dataclass(frozen=True, slots=True)
class Replay:
    """An episode to play again: where it was recorded, and where its video goes."""

    folder: RunFolder
    episode: EpisodeSpec
    record: EpisodeRecord
    path: Path
    film: Film
    fps: Fraction

    @property
    def frames(self) -> int:
        """How many frames the video will have, if the replay goes as recorded."""
        return -(-self.record.steps // self.film.every) + 1


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """A video, and the step at which the replay left the recorded course; or why there is no video."""

    replay: Replay
    diverged_at: int | None = None
    error: str | None = None


def replay_all(
    replays: Sequence[Replay],
    pool: ProcessPool,
    on_frame: Callable[[], None] = lambda: None,
    until: int | None = None,
) -> Iterator[ReplayResult]:
    """Film episodes on all places of the pool, each in a fresh worker; what fails is tried again.

    `until` is a descriptor: as soon as it can be read, what is not finished is given up.
    """
    given_up = [] if until is None else [until]
    waiting = deque((replay, 1) for replay in replays)
    running: dict[Worker, RunningReplay] = {}
    try:
        while waiting or running:
            while waiting and len(running) < pool.size:
                replay, attempt = waiting.popleft()
                try:
                    started = RunningReplay(replay, attempt, pool, on_frame)
                except UsageError as error:  # its actions are missing or damaged
                    yield ReplayResult(replay, error=str(error))
                else:
                    running[started.worker] = started
            reports = pool.wait(given_up) if running else []
            if given_up and select.select(given_up, [], [], 0)[0]:
                return
            for worker, report in reports:
                current = running[worker]
                if isinstance(report, Failed | Died):
                    if current.attempt < ATTEMPTS:
                        waiting.appendleft((current.replay, current.attempt + 1))
                        result = None
                    else:
                        reason = report.traceback if isinstance(report, Failed) else report.reason
                        result = ReplayResult(current.replay, error=reason.strip().splitlines()[-1])
                    current.writer.discard()
                else:
                    result = current.go_on(report)
                    if result is None:
                        continue
                    current.writer.finish()
                    current.keep_states(result.diverged_at)
                del running[worker]
                pool.dismiss(worker)
                if result is not None:
                    yield result
    finally:
        for current in running.values():
            current.writer.discard()


class RunningReplay:
    """A replay on its worker."""

    def __init__(self, replay: Replay, attempt: int, pool: ProcessPool, on_frame: Callable[[], None]) -> None:
        self.replay = replay
        self.attempt = attempt
        self.writer = VideoWriter(replay.path, replay.fps)
        self._on_frame = on_frame
        self._actions = replay.folder.load_played(replay.record.key).actions
        self._played = 0
        self._states: list[np.ndarray] = []
        features = replay.episode.task.env.features
        shown = {name: features[name] for name in (ROBOT_STATE,) if name in features}
        layout = MemoryLayout(shown, frame=(replay.film.height, replay.film.width))
        self._wanted = tuple(shown)
        self.worker: Worker = pool.hire(replay.episode.task, layout)
        self.worker.on_frame = self._take
        self.worker.order(Begin(replay.episode, self._wanted, replay.film))

    def go_on(self, report: Report) -> ReplayResult | None:
        """Play all actions, then have the worker tell of it, whether or not the episode has ended by itself."""
        match report:
            case Seen(looks):
                self._states += [
                    slot[ROBOT_STATE].copy() for slot, _ in zip(self.worker.looks, looks, strict=False) if slot
                ]
                self.worker.order(self._next())
            case Finished(rollout):
                return ReplayResult(self.replay, _divergence(self.replay.record, rollout))
        return None

    def keep_states(self, diverged_at: int | None) -> None:
        """Put what was seen of the robot beside its videos; a folder that takes nothing goes without."""
        if self._states:
            trace = ReplayTrace(np.stack(self._states), self.replay.film.every, diverged_at)
            with contextlib.suppress(OSError):
                self.replay.folder.save_trace(self.replay.record.key, trace)

    def _next(self) -> Order:
        """The actions up to the next frame."""
        chunk = self._actions[self._played : self._played + self.replay.film.every]
        self._played += len(chunk)
        return Play.of(PlayableChunk(chunk, {len(chunk): self._wanted})) if len(chunk) else Finish()

    def _take(self, frame: np.ndarray) -> None:
        self.writer.add(frame)
        self._on_frame()


def _divergence(record: EpisodeRecord, rollout: Rollout) -> int | None:
    """The first step whose recorded fingerprint the replay does not have."""
    for step, recorded in sorted((int(step), value) for step, value in record.fingerprints.items()):
        if rollout.fingerprints.get(step) != recorded:
            return step
    return None
