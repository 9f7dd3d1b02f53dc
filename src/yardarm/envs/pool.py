"""Workers as the scheduler sees them: hire one for a task, give orders, wait for reports, dismiss it.

`Pool` is the interface: `ProcessPool` runs workers in processes of this machine, `LocalPool` runs one simulator in
this process for debugging, and a cluster can implement the same methods.
"""

from __future__ import annotations

import math
import select
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from yardarm.envs.messages import Enter, Order, Report
from yardarm.envs.rendering import use_backend
from yardarm.envs.shared_memory import MemoryLayout, SharedMemory
from yardarm.envs.worker import WorkerCore
from yardarm.tasks import TaskSpec

__all__ = ["LocalPool", "Pool", "Worker"]


class Worker(Protocol):
    """A worker, as the scheduler sees it."""

    task: TaskSpec
    looks: list[dict[str, np.ndarray]]
    """The worker's looks; valid from its report until its next order."""
    on_frame: Callable[[np.ndarray], None] | None
    """Called with each frame of a film."""

    def order(self, order: Order) -> None:
        """Give an order; `Pool.wait` returns the report."""


class Pool(Protocol):
    """A number of places for workers, and the workers in them."""

    @property
    def size(self) -> int:
        """How many workers it can have; on a cluster this changes."""

    def hire(self, task: TaskSpec, layout: MemoryLayout) -> Any:
        """Start a worker for a task; there must be a free place."""

    def dismiss(self, worker: Any) -> None:
        """End a worker, whatever it is doing; its place is free at once."""

    def wait(self, also: Sequence[int] = (), at_most_s: float = math.inf) -> list[tuple[Any, Report]]:
        """Block until a worker reports (or dies, or runs out of time), or a descriptor in `also` is readable."""

    def close(self) -> None:
        """End all workers."""


class LocalWorker:
    """The only worker of a `LocalPool`: an order is a call that carries it out."""

    def __init__(self, task: TaskSpec, layout: MemoryLayout, report: Callable[[Any, Report], None]) -> None:
        self.task = task
        self.on_frame: Callable[[np.ndarray], None] | None = None
        self._memory = SharedMemory.create(layout)
        self.looks = self._memory.looks
        self._core = WorkerCore(lambda message: report(self, message), self._take_frame)
        self._core.enter(Enter(task, layout), self._memory)

    def order(self, order: Order) -> None:
        """Carry out the order now; the report is kept for the pool's `wait`."""
        self._core.obey(order)

    def close(self) -> None:
        """Close the simulator and free the memory."""
        self._core.close()
        self._memory.close()

    def _take_frame(self, frame: np.ndarray) -> None:
        if self.on_frame is not None:
            self.on_frame(frame)


class LocalPool:
    """One simulator in this process, for debugging. No time limits, no protection from crashes."""

    size = 1

    def __init__(self, backend: str = "") -> None:
        if backend:
            use_backend(backend)
        self._reports: list[tuple[LocalWorker, Report]] = []
        self._worker: LocalWorker | None = None

    def hire(self, task: TaskSpec, layout: MemoryLayout) -> LocalWorker:
        """Create the worker."""
        assert self._worker is None, "a local pool has one place"
        self._worker = LocalWorker(task, layout, lambda *report: self._reports.append(report))
        return self._worker

    def dismiss(self, worker: LocalWorker) -> None:
        """Close the worker's simulator."""
        worker.close()
        self._worker = None
        self._reports.clear()

    def wait(self, also: Sequence[int] = (), at_most_s: float = math.inf) -> list[tuple[LocalWorker, Report]]:
        """Return the reports; if there are none, wait for a descriptor in `also`."""
        if not self._reports and also:
            select.select(also, [], [], at_most_s if math.isfinite(at_most_s) else None)
        reports = list(self._reports)
        self._reports.clear()
        return reports

    def close(self) -> None:
        """Close the simulator, if there is one."""
        if self._worker is not None:
            self.dismiss(self._worker)
