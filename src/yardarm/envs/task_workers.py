"""Workers from episode to episode: hired for a task, kept for its next episode, dismissed; and what they have seen."""

from __future__ import annotations

from yardarm.envs.messages import Seen
from yardarm.envs.pool import Pool, Worker
from yardarm.envs.shared_memory import MemoryLayout
from yardarm.policies import Look
from yardarm.tasks import TaskSpec

__all__ = ["TaskWorkers", "looks_of"]


class TaskWorkers:
    """The workers of one caller; between two episodes of a task, a worker keeps its simulator."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._layouts: dict[Worker, MemoryLayout] = {}
        self._kept: list[Worker] = []

    def take(self, task: TaskSpec, layout: MemoryLayout) -> Worker:
        """A kept worker that fits, or a new one; if all places are taken, in place of the one kept longest."""
        for position, kept in enumerate(self._kept):
            if kept.task == task and self._layouts[kept] == layout:
                return self._kept.pop(position)
        if self._kept and len(self._layouts) >= self._pool.size:
            self.dismiss(self._kept[0])
        worker: Worker = self._pool.hire(task, layout)
        self._layouts[worker] = layout
        return worker

    def keep(self, worker: Worker) -> None:
        """Keep a worker that has finished an episode, unless its simulator is good for one episode only."""
        if worker.task.env.lives_once:
            self.dismiss(worker)
        else:
            self._kept.append(worker)

    def take_kept(self) -> list[Worker]:
        """All kept workers, oldest first; the caller gives each an episode or dismisses it."""
        kept, self._kept = self._kept, []
        return kept

    def dismiss(self, worker: Worker) -> None:
        """Let a worker go, whatever it is doing."""
        del self._layouts[worker]
        self._kept = [other for other in self._kept if other is not worker]
        self._pool.dismiss(worker)


def looks_of(worker: Worker, seen: Seen) -> list[Look]:
    """What a worker has seen: views into its memory, which its next order overwrites."""
    return [
        Look(step, {name: slot[name] for name in names})
        for slot, (step, names) in zip(worker.looks, seen.looks, strict=False)
    ]
