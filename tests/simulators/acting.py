"""Drives a simulator in a worker by hand, and compares what it shows."""

from __future__ import annotations

import numpy as np

from yardarm.envs import MemoryLayout, ProcessPool
from yardarm.envs.messages import Begin, Finished, Play, Rollout, Seen
from yardarm.envs.processes import ProcessWorker
from yardarm.policies.chunks import PlayableChunk
from yardarm.tasks import EpisodeSpec, TaskSpec


class Actor:
    """One worker for one task; it looks at everything that the task offers, unless told otherwise."""

    def __init__(self, task: TaskSpec) -> None:
        self.task = task
        self.pool = ProcessPool(1, time_limit_s=120)
        self.pool.choose_renderer([task])
        self.worker: ProcessWorker = self.pool.hire(task, MemoryLayout(task.env.features))

    def begin(self, seed: int, wanted: tuple[str, ...] | None = None, index: int = 0) -> dict[str, np.ndarray]:
        self.worker.order(Begin(EpisodeSpec(self.task, index, seed), self._all(wanted)))
        return self._seen()

    def play(self, actions: np.ndarray, wanted: tuple[str, ...] | None = None) -> dict[str, np.ndarray]:
        self.worker.order(Play.of(PlayableChunk(actions, {len(actions): self._all(wanted)})))
        return self._seen()

    def play_to_the_end(self, actions: np.ndarray) -> Rollout:
        self.worker.order(Play.of(PlayableChunk(actions, {len(actions): ()})))
        ((_, report),) = self.pool.wait()
        assert isinstance(report, Finished), report
        return report.rollout

    def _all(self, wanted: tuple[str, ...] | None) -> tuple[str, ...]:
        return tuple(self.task.env.features) if wanted is None else wanted

    def _seen(self) -> dict[str, np.ndarray]:
        ((_, report),) = self.pool.wait()
        assert isinstance(report, Seen), report
        return {name: value.copy() for name, value in self.worker.looks[0].items()}


def assert_same_picture(seen: np.ndarray, expected: np.ndarray) -> None:
    """Hold what golden frames must hold: no visible difference, anywhere."""
    assert seen.shape == expected.shape
    difference = np.abs(seen.astype(int) - expected.astype(int))
    assert difference.mean() < 0.05
    height, width = (side // 16 for side in seen.shape[:2])
    blocks = difference[: height * 16, : width * 16].reshape(height, 16, width, 16, 3).mean(axis=(1, 3, 4))
    assert blocks.max() < 2
