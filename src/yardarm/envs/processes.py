"""Workers as processes of this machine, forked by launchers.

    scheduler              ProcessPool                        worker process
    hire(task) ──────────▶ a launcher forks it ─────────────▶ waits for an order
    order(Play) ─────────▶ its socket ──────────────────────▶ plays the chunk, and meanwhile
    wait() blocks          selects on all sockets             writes looks into shared memory
      ◀── (worker, Seen) ◀───────────────────────────────────  then waits for the next order
    reads worker.looks,
      until its next order

`wait` also returns `Died` if a worker's socket closes, or if its report is overdue (checked every 0.25 s). The
scheduler never waits for the report of a single worker.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import selectors
import socket
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from yardarm.envs.capped_log import CappedLog
from yardarm.envs.channel import Channel, StrayBytes
from yardarm.envs.launching import Launcher, Launchers
from yardarm.envs.messages import Alive, Begin, Died, Enter, Filmed, Order, Proceed, Report
from yardarm.envs.rendering import gpu_ids
from yardarm.envs.shared_memory import MemoryLayout, SharedMemory
from yardarm.tasks import Home, TaskSpec

__all__ = ["ProcessPool", "ProcessWorker"]

CHECK_EVERY_S = 0.25
# How often a worker that plays a whole episode by itself reports that it is alive.
HEARTBEAT_S = 1.0
# A worker that does not read its orders must not block the main process for longer.
STALL_LIMIT_S = 30


class ProcessWorker:
    """A worker process: its socket, its memory, and the deadline of its next report."""

    def __init__(self, task: TaskSpec, place: int, channel: Channel, memory: SharedMemory) -> None:
        self.task = task
        self.place = place
        self.pid = 0
        self.on_frame: Callable[[np.ndarray], None] | None = None
        self.looks = memory.looks
        self.launcher: Launcher | None = None
        self._memory = memory
        self._channel = channel
        self.time_limit_s = float("inf")
        self.deadline = float("inf")
        self.rounds = 0
        """Number of orders carried out, without the first of each episode, which may build a simulator."""
        self.start_s: float | None = None
        """How long its first order took: building a simulator, and usually a first look."""
        self._busy_s = 0.0
        self._ordered: float | None = None
        self._beginning = False

    @property
    def busy_s(self) -> float:
        """Seconds spent on orders so far."""
        return self._busy_s + (time.monotonic() - self._ordered if self._ordered is not None else 0.0)

    def enter(self, order: Enter) -> None:
        """Send the first order, which has no answer."""
        self._send(order)
        self.deadline = float("inf")

    def order(self, order: Order) -> None:
        """Send an order; from now on the worker must report within the time limit."""
        self._ordered = time.monotonic()
        self._beginning = isinstance(order, Begin)
        self._send(order)

    def _send(self, order: Order) -> None:
        self.deadline = self._new_deadline()
        # If the worker has died, `wait` will notice.
        with contextlib.suppress(OSError):
            self._channel.send(order)

    def receive(self) -> Iterator[Report]:
        """Read the reports that have arrived, without waiting; frames of a film are handled here."""
        try:
            arrived: list[Report] = self._channel.arrived()
        except (EOFError, OSError) as error:
            self.deadline = float("inf")
            yield Died(f"worker process {self.pid} {self._what_happened(error)}")
            return
        for report in arrived:
            if isinstance(report, Filmed):
                self._show_frame()
            elif isinstance(report, Alive):
                self.deadline = self._new_deadline()
                yield report
            else:
                self.deadline = float("inf")
                self._finish_order()
                yield report

    def _what_happened(self, error: EOFError | OSError) -> str:
        if isinstance(error, StrayBytes):
            return (
                f"can no longer be trusted: something in it, perhaps a native library, wrote into its connection "
                f"({error})"
            )
        assert self.launcher is not None
        return f"ended unexpectedly: {self.launcher.how_ended(self.pid)}"

    def _finish_order(self) -> None:
        self._busy_s = self.busy_s
        self._ordered = None
        if self.start_s is None:
            self.start_s = self._busy_s
        self.rounds += not self._beginning

    def _show_frame(self) -> None:
        if self.on_frame is not None:
            self.on_frame(self._memory.frame)
        self._send(Proceed())

    def _new_deadline(self) -> float:
        return time.monotonic() + self.time_limit_s

    def fileno(self) -> int:
        """For selectors."""
        return self._channel.fileno()

    def close(self) -> None:
        """Close this end of the socket."""
        self._channel.close()


class ProcessPool:
    """A number of places, each with its own shared memory; a worker process lives for one task.

    `size` may be changed at any time: the scheduler checks it before it hires. Workers beyond it stay until dismissed.

    A fork takes 3 ms, building a simulator 150 ms or more. So a worker is not reused for another task: nothing can
    leak from one task to the next, and memory does not grow with the number of tasks.

    `nice` lowers the workers' priority, for work that must not be in the way of other work.
    """

    def __init__(
        self, size: int, *, time_limit_s: float = float("inf"), log: Path | None = None, nice: int = 0
    ) -> None:
        self.size = size
        self._time_limit_s = time_limit_s
        # The backend and the renderer's name; nothing is rendered before `choose_renderer` is called.
        self._renderers: dict[Home, tuple[str, str]] = {}
        self._gpus = gpu_ids()
        self._launchers = Launchers(log, nice)
        self._log = CappedLog(log) if log else None
        self._workers: dict[int, ProcessWorker] = {}
        self._memories: dict[int, tuple[MemoryLayout, SharedMemory]] = {}
        self._selector = selectors.DefaultSelector()
        self._next_check = 0.0

    @property
    def workers(self) -> list[ProcessWorker]:
        """The current workers."""
        return list(self._workers.values())

    def hire(self, task: TaskSpec, layout: MemoryLayout) -> ProcessWorker:
        """Fork a worker for a task into the first free place."""
        place = next(place for place in itertools.count() if place not in self._workers)
        memory = self._memory(place, layout)
        ours, theirs = socket.socketpair()
        # A time limit in the kernel: with `settimeout`, Python would poll before every call.
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", STALL_LIMIT_S, 0))
        worker = ProcessWorker(task, place, Channel(ours), memory)
        with theirs:
            descriptors = [theirs.fileno(), memory.descriptor]
            environment = self._environment(task, place)
            worker.launcher, worker.pid = self._launchers.fork(task.env.home, environment, descriptors)
        worker.time_limit_s = self._time_limit_s
        self._workers[place] = worker
        self._selector.register(worker, selectors.EVENT_READ)
        worker.enter(Enter(task, layout, heartbeat_s=min(HEARTBEAT_S, self._time_limit_s / 4)))
        return worker

    def dismiss(self, worker: ProcessWorker) -> None:
        """Kill a worker: it has nothing to lose."""
        self._selector.unregister(worker)
        del self._workers[worker.place]
        worker.close()
        with contextlib.suppress(OSError):
            assert worker.launcher is not None
            worker.launcher.kill(worker.pid)

    def dismiss_all(self) -> None:
        """Kill all workers; new ones can be hired."""
        for worker in self.workers:
            self.dismiss(worker)

    def wait(self, also: Sequence[int] = (), at_most_s: float = math.inf) -> list[tuple[ProcessWorker, Report]]:
        """Wait for the first report, and return all that have arrived."""
        given_up = time.monotonic() + at_most_s
        for descriptor in also:
            self._selector.register(descriptor, selectors.EVENT_READ)
        try:
            while True:
                ready = [key.fileobj for key, _ in self._selector.select(CHECK_EVERY_S)]
                speakers = [item for item in ready if isinstance(item, ProcessWorker)]
                reports = [(worker, report) for worker in speakers for report in worker.receive()]
                now = time.monotonic()
                if now > self._next_check:
                    reports += self._overdue(now)
                if reports or len(ready) > len(speakers) or now > given_up:
                    return reports
        finally:
            for descriptor in also:
                self._selector.unregister(descriptor)

    def prepare(self, tasks: Iterable[TaskSpec]) -> None:
        """Import the tasks' simulators, so that a missing package is found before the first episode."""
        for task in tasks:
            self._launchers.start(task.env.home)

    def choose_renderer(self, tasks: Iterable[TaskSpec]) -> str | None:
        """Find an OpenGL backend that works in workers, use it from now on, and name it; None if no task needs one."""
        homes = dict.fromkeys(task.env.home for task in tasks if task.env.renderer)
        for home in homes:
            if home not in self._renderers:
                self._renderers[home] = self._launchers.find_renderer(home)
        return "; ".join(dict.fromkeys(self._renderers[home][1] for home in homes)) or None

    def close(self) -> None:
        """Kill all workers, and wait until their launchers have ended."""
        for worker in list(self._workers.values()):
            self._selector.unregister(worker)
            worker.close()
        self._workers.clear()
        self._launchers.close()
        if self._log is not None:
            self._log.look()
        for _, memory in self._memories.values():
            memory.close()
        self._memories.clear()
        self._selector.close()

    def _overdue(self, now: float) -> list[tuple[ProcessWorker, Report]]:
        """Workers whose report is overdue; checked only now and then, since messages may arrive at every step."""
        self._next_check = now + CHECK_EVERY_S
        if self._log is not None:
            self._log.look()
        late = [worker for worker in self._workers.values() if worker.deadline < now]
        for worker in late:
            worker.deadline = float("inf")
        reason = f"no answer within {self._time_limit_s:g} s (--eval.timeout_s)"
        return [(worker, Died(f"worker process {worker.pid} hung: {reason}")) for worker in late]

    def _memory(self, place: int, layout: MemoryLayout) -> SharedMemory:
        """The place's memory, replaced only if the layout has changed."""
        if place in self._memories:
            known, memory = self._memories[place]
            if known == layout:
                return memory
            memory.close()
        memory = SharedMemory.create(layout)
        self._memories[place] = (layout, memory)
        return memory

    def _environment(self, task: TaskSpec, place: int) -> dict[str, str]:
        """Environment variables that a worker needs before it renders."""
        if task.env.home not in self._renderers or not task.env.renderer:
            return {}
        environment = {"MUJOCO_GL": self._renderers[task.env.home][0]}
        if len(self._gpus) > 1 and "MUJOCO_EGL_DEVICE_ID" not in os.environ:
            environment["MUJOCO_EGL_DEVICE_ID"] = self._gpus[place % len(self._gpus)]
        return environment
