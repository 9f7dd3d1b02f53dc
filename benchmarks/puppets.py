"""A thousand workers in one process: real messages after the time that simulators would take, but no simulators."""

from __future__ import annotations

import contextlib
import heapq
import math
import multiprocessing
import selectors
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from yardarm.envs import MemoryLayout, ProcessPool
from yardarm.envs.channel import HEADER, Channel, packed
from yardarm.envs.messages import Enter, Finished, Report, Rollout, Seen, Timing
from yardarm.envs.processes import ProcessWorker
from yardarm.tasks import TaskSpec

READ_SIZE = 65536
# Simulators do not run in step, so puppets must not either.
SPREAD = 0.2


@dataclass(frozen=True)
class Costs:
    """Seconds that a simulator takes, and how long its episodes are."""

    reset_s: float
    step_s: float
    look_s: float
    chunk: int = 100
    chunks: int = 5
    """Chunks per episode."""

    @property
    def episode_s(self) -> float:
        """Seconds of an episode without waiting."""
        return self.reset_s + self.look_s + self.chunks * (self.chunk * self.step_s) + (self.chunks - 1) * self.look_s


class PuppetPool(ProcessPool):
    """A pool whose workers are all played by one process; everything in the main process is real."""

    def __init__(self, size: int, costs: Costs, inputs: tuple[str, ...]) -> None:
        super().__init__(size)
        self.passes = 0
        """How often the main process woke up to serve reports."""
        self._control, theirs = socket.socketpair()
        context = multiprocessing.get_context("fork")
        self._late = context.Value("d", 0.0)
        self._answers = context.Value("q", 0)
        master = (theirs, self._control, costs, inputs, self._late, self._answers)
        self._master = context.Process(target=_play_puppets, args=master, daemon=True)
        self._master.start()
        theirs.close()

    @property
    def late_s(self) -> float:
        """How late the puppets answer, on average: they share the machine too."""
        return self._late.value / max(1, self._answers.value)

    def wait(self, also: Sequence[int] = (), at_most_s: float = math.inf) -> list[tuple[ProcessWorker, Report]]:
        self.passes += 1
        return super().wait(also, at_most_s)

    def hire(self, task: TaskSpec, layout: MemoryLayout) -> ProcessWorker:
        place = next(place for place in range(self.size) if place not in self._workers)
        ours, theirs = socket.socketpair()
        worker = ProcessWorker(task, place, Channel(ours), self._memory(place, layout))
        with theirs:
            socket.send_fds(self._control, [b"!"], [theirs.fileno()])
        self._workers[place] = worker
        self._selector.register(worker, selectors.EVENT_READ)
        worker.order(Enter(task, layout))
        worker.deadline = float("inf")
        return worker

    def dismiss(self, worker: ProcessWorker) -> None:
        self._selector.unregister(worker)
        del self._workers[worker.place]
        worker.close()

    def close(self) -> None:
        super().close()
        self._control.close()
        self._master.join()


class Puppet:
    """One worker, which counts its orders; its answers are prepared in advance."""

    def __init__(self, channel: socket.socket, delay_s: float) -> None:
        self.socket = channel
        self.delay_s = delay_s
        """The wait before its first episode, so that episodes that start together do not end together."""
        self.unread = b""
        self.entered = False
        self.played = -1
        """Chunks played in this episode; -1: it has not started."""

    def orders(self) -> int | None:
        """The number of orders that have arrived; None if the main process has closed the socket."""
        try:
            received = self.socket.recv(READ_SIZE)
        except ConnectionError:
            return None
        if not received:
            return None
        self.unread += received
        count = 0
        while len(self.unread) >= HEADER.size:
            end = HEADER.size + HEADER.unpack_from(self.unread)[1]
            if len(self.unread) < end:
                break
            self.unread = self.unread[end:]
            count += 1
        return count


def _play_puppets(
    control: socket.socket, other_end: socket.socket, costs: Costs, inputs: tuple[str, ...], late: Any, answers: Any
) -> None:
    """Answer every order after the time that it would take."""
    other_end.close()
    look, end = packed(Seen(((0, inputs),))), packed(Finished(played_rollout(costs)))
    selector = selectors.DefaultSelector()
    selector.register(control, selectors.EVENT_READ, None)
    due: list[tuple[float, int, Puppet, bytes]] = []
    random = Random(0)
    number, ended = 0, False
    while True:
        wait = max(0.0, due[0][0] - time.monotonic()) if due else None
        for key, _ in selector.select(wait):
            if key.data is None:
                message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
                if not message:
                    return
                delay_s = 0.0 if ended else random.uniform(0, costs.episode_s)
                puppet = Puppet(socket.socket(fileno=descriptors[0]), delay_s)
                selector.register(puppet.socket, selectors.EVENT_READ, puppet)
                continue
            puppet = key.data
            orders = puppet.orders()
            if orders is None:
                selector.unregister(puppet.socket)
                puppet.socket.close()
                continue
            if orders and not puppet.entered:
                puppet.entered, orders = True, orders - 1
            if orders:
                number += 1  # answers due at the same time keep the order of their orders
                seconds = _seconds(puppet, costs) * random.uniform(1 - SPREAD, 1 + SPREAD)
                at, puppet.delay_s = time.monotonic() + puppet.delay_s + seconds, 0.0
                heapq.heappush(due, (at, number, puppet, _answer(puppet, costs, look, end)))
        now = time.monotonic()
        while due and due[0][0] <= now:
            at, _, puppet, answer = heapq.heappop(due)
            with contextlib.suppress(OSError):
                puppet.socket.sendall(answer)
            ended = ended or answer is end
            late.value += time.monotonic() - at
            answers.value += 1


def _seconds(puppet: Puppet, costs: Costs) -> float:
    if puppet.played < 0:
        return costs.reset_s + costs.look_s
    ends = puppet.played + 1 == costs.chunks
    return costs.chunk * costs.step_s + (0.0 if ends else costs.look_s)


def _answer(puppet: Puppet, costs: Costs, look: bytes, end: bytes) -> bytes:
    puppet.played += 1
    if puppet.played < costs.chunks:
        return look
    puppet.played = -1
    return end


def played_rollout(costs: Costs) -> Rollout:
    """What a puppet claims to have played."""
    steps = costs.chunk * costs.chunks
    generator = np.random.default_rng(0)
    return Rollout(
        success=False,
        terminated=False,
        actions=generator.random((steps, 4), np.float32),
        rewards=generator.random(steps),
        initial_state=generator.random(60),
        fingerprints={step: f"{step:016x}" for step in range(0, steps + 1, 100)},
        travel=0.5,
        timing=Timing(step_s=steps * costs.step_s, look_s=costs.chunks * costs.look_s),
    )
