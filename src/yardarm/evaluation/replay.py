"""Plays finished episodes again from their seeds and actions, checks that they go the same way, and films them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from yardarm.envs import ProcessPool, Worker
from yardarm.envs.messages import Begin, Died, Failed, Film, Finished, Play, Rollout, Seen
from yardarm.envs.shared_memory import MemoryLayout
from yardarm.errors import EnvironmentFault
from yardarm.policies.chunks import PlayableChunk
from yardarm.results import EpisodeRecord, PlayedEpisode, VideoWriter
from yardarm.tasks import EpisodeSpec

__all__ = ["Replay", "ReplayResult", "replay_all"]


@dataclass(frozen=True, slots=True)
class Replay:
    """An episode to play again: what was recorded of it, and where its video goes."""

    episode: EpisodeSpec
    record: EpisodeRecord
    played: PlayedEpisode
    path: Path
    film: Film
    fps: Fraction


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """A video, and the step at which the replay left the recorded course, if it did."""

    replay: Replay
    diverged_at: int | None


def replay_all(
    replays: Sequence[Replay], pool: ProcessPool, on_frame: Callable[[], None] = lambda: None
) -> Iterator[ReplayResult]:
    """Film episodes on all places of the pool, each in a fresh worker."""
    waiting = list(replays)
    running: dict[Worker, tuple[Replay, VideoWriter]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < pool.size:
                _begin(waiting.pop(0), pool, running, on_frame)
            for worker, report in pool.wait():
                replay, writer = running[worker]
                match report:
                    case Seen(((0, _),)):
                        actions = replay.played.actions
                        worker.order(Play.of(PlayableChunk(actions, {len(actions): ()})))
                        continue
                    case Failed(reason) | Died(reason):
                        raise EnvironmentFault(f"replaying {replay.episode.task.name} failed: {reason}")
                pool.dismiss(worker)
                writer.finish()
                del running[worker]
                rollout = report.rollout if isinstance(report, Finished) else None
                yield ReplayResult(replay, _divergence(replay.record, rollout))
    finally:
        for _, writer in running.values():
            writer.discard()


def _begin(
    replay: Replay,
    pool: ProcessPool,
    running: dict[Worker, tuple[Replay, VideoWriter]],
    on_frame: Callable[[], None],
) -> None:
    film = replay.film
    worker = pool.hire(replay.episode.task, MemoryLayout({}, frame=(film.height, film.width)))
    writer = VideoWriter(replay.path, replay.fps)

    def take(frame: object) -> None:
        writer.add(frame)  # type: ignore[arg-type]
        on_frame()

    worker.on_frame = take
    running[worker] = (replay, writer)
    worker.order(Begin(replay.episode, (), film))


def _divergence(record: EpisodeRecord, rollout: Rollout | None) -> int | None:
    """The first step whose recorded fingerprint the replay does not have."""
    replayed = rollout.fingerprints if rollout else {}
    for step, recorded in sorted((int(step), value) for step, value in record.fingerprints.items()):
        if replayed.get(step) != recorded:
            return step
    return None
