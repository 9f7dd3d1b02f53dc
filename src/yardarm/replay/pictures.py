"""What tasks look like: the first picture of each, drawn on all cores."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np

from yardarm.engine import film_of
from yardarm.envs import MemoryLayout, ProcessPool, Worker
from yardarm.envs.messages import Begin, Died, Failed
from yardarm.errors import EnvironmentFault
from yardarm.tasks import FIRST_SEED, EpisodeSpec, TaskSpec

__all__ = ["first_pictures"]


def first_pictures(tasks: Sequence[TaskSpec], pool: ProcessPool) -> Iterator[tuple[TaskSpec, np.ndarray]]:
    """The start of each task's first episode, seen by its first camera; in the order in which they are ready."""
    waiting, pictures = deque(tasks), dict[Worker, np.ndarray]()
    busy = 0
    while waiting or busy:
        while waiting and busy < pool.size:
            _draw(waiting.popleft(), pool, pictures)
            busy += 1
        for worker, report in pool.wait():
            if isinstance(report, Failed | Died):
                reason = report.traceback if isinstance(report, Failed) else report.reason
                raise EnvironmentFault(f"'{worker.task.name}' cannot be drawn: {reason.strip().splitlines()[-1]}")
            yield worker.task, pictures.pop(worker)
            pool.dismiss(worker)
            busy -= 1


def _draw(task: TaskSpec, pool: ProcessPool, pictures: dict[Worker, np.ndarray]) -> None:
    film, _ = film_of(task)
    worker = pool.hire(task, MemoryLayout({}, frame=(film.height, film.width)))

    def keep(frame: np.ndarray) -> None:
        pictures[worker] = frame.copy()

    worker.on_frame = keep
    worker.order(Begin(EpisodeSpec(task, 0, FIRST_SEED), (), film))
