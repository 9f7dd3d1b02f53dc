"""Films finished episodes: they are played again from their seeds and actions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from yardarm.envs import MemoryLayout, ProcessPool
from yardarm.envs.messages import Film
from yardarm.policies import Look, PlayableChunk
from yardarm.replay.playback import Playback
from yardarm.results import EpisodeRecord, PlayedEpisode, ReplayTrace, RunFolder, VideoWriter
from yardarm.tasks import EpisodeSpec

__all__ = ["Replay", "ReplayResult", "replay_all"]

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
    """Film episodes on all places of the pool.

    `until` is a descriptor: as soon as it can be read, what is not finished is given up.
    """
    playback = Playback(replays, lambda replay: EpisodeFilmer(replay, on_frame), pool, until)
    with contextlib.closing(iter(playback)) as results:
        for result in results:
            if result.watcher is not None:
                result.watcher.finish(result.diverged_at)
            yield ReplayResult(result.recorded, result.diverged_at, result.error)


class EpisodeFilmer:
    """Makes the video of a replay, and notes the robot's own state with every frame."""

    def __init__(self, replay: Replay, on_frame: Callable[[], None]) -> None:
        self._replay = replay
        self._on_frame = on_frame
        self._writer = VideoWriter(replay.path, replay.fps)
        self._states: list[np.ndarray] = []
        features = replay.episode.task.env.features
        shown = {name: features[name] for name in (ROBOT_STATE,) if name in features}
        self.film: Film | None = replay.film
        self.layout = MemoryLayout(shown, frame=(replay.film.height, replay.film.width))

    def chunks(self, played: PlayedEpisode) -> Iterator[PlayableChunk]:
        """The actions from frame to frame."""
        actions, every = played.actions, self._replay.film.every
        for start in range(0, len(actions), every):
            chunk = actions[start : start + every]
            yield PlayableChunk(chunk, {len(chunk): tuple(self.layout.inputs)})

    def see(self, looks: Sequence[Look]) -> None:
        """Note where the robot is, if that can be seen."""
        self._states += [look.values[ROBOT_STATE].copy() for look in looks if look.values]

    def take_frame(self, frame: np.ndarray) -> None:
        """Put a frame into the video."""
        self._writer.add(frame)
        self._on_frame()

    def discard(self) -> None:
        """Throw an unfinished video away."""
        self._writer.discard()

    def finish(self, diverged_at: int | None) -> None:
        """Complete the video, and put the states beside it, unless the folder cannot be written."""
        self._writer.finish()
        if self._states:
            trace = ReplayTrace(np.stack(self._states), self._replay.film.every, diverged_at)
            with contextlib.suppress(OSError):
                self._replay.folder.save_trace(self._replay.record.key, trace)
