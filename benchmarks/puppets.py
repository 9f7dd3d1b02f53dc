"""A thousand workers in one process: real messages, the time that simulators would take, and no simulators."""

from __future__ import annotations

import heapq
import multiprocessing
import pickle
import selectors
import socket
import time
from dataclasses import dataclass

import numpy as np

from yardarm.envs import MemoryLayout, ProcessPool
from yardarm.envs.channel import HEADER, Channel
from yardarm.envs.messages import Enter, Finished, Rollout, Seen, Timing
from yardarm.envs.processes import ProcessWorker
from yardarm.tasks import TaskSpec

READ_SIZE = 65536


@dataclass(frozen=True)
class Costs:
    """Seconds that a simulator takes, and how long its episodes are."""

    reset_s: float
    step_s: float
    look_s: float
    chunk: int = 100
    chunks: int = 5
    """Of an episode."""

    @property
    def episode_s(self) -> float:
        """An episode without waiting for anybody."""
        return self.reset_s + self.look_s + self.chunks * (self.chunk * self.step_s) + (self.chunks - 1) * self.look_s


class PuppetPool(ProcessPool):
    """A pool whose workers are played by one process; all that the main process does is as always."""

    def __init__(self, size: int, costs: Costs, inputs: tuple[str, ...]) -> None:
        super().__init__(size)
        self._control, theirs = socket.socketpair()
        context = multiprocessing.get_context("fork")
        self._master = context.Process(target=_play_puppets, args=(theirs, self._control, costs, inputs), daemon=True)
        self._master.start()
        theirs.close()

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
    """One worker: it counts the orders that it gets, and has its answers ready."""

    def __init__(self, channel: socket.socket) -> None:
        self.socket = channel
        self.unread = b""
        self.entered = False
        self.played = -1
        """Chunks of this episode; -1: it has not begun."""

    def orders(self) -> int | None:
        """How many orders have arrived; None if the main process has hung up."""
        try:
            received = self.socket.recv(READ_SIZE)
        except ConnectionError:
            return None
        if not received:
            return None
        self.unread += received
        count = 0
        while len(self.unread) >= HEADER.size:
            end = HEADER.size + HEADER.unpack_from(self.unread)[0]
            if len(self.unread) < end:
                break
            self.unread = self.unread[end:]
            count += 1
        return count


def _play_puppets(control: socket.socket, other_end: socket.socket, costs: Costs, inputs: tuple[str, ...]) -> None:
    """Answer every order after the time that it would take."""
    other_end.close()
    look, end = _framed(Seen(((0, inputs),))), _framed(Finished(_rollout(costs)))
    selector = selectors.DefaultSelector()
    selector.register(control, selectors.EVENT_READ, None)
    due: list[tuple[float, int, Puppet, bytes]] = []
    number = 0
    while True:
        wait = max(0.0, due[0][0] - time.monotonic()) if due else None
        for key, _ in selector.select(wait):
            if key.data is None:
                message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
                if not message:
                    return
                puppet = Puppet(socket.socket(fileno=descriptors[0]))
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
                number += 1  # who is due at the same time comes in the order of the orders
                at = time.monotonic() + _seconds(puppet, costs)
                heapq.heappush(due, (at, number, puppet, _answer(puppet, costs, look, end)))
        now = time.monotonic()
        while due and due[0][0] <= now:
            _, _, puppet, answer = heapq.heappop(due)
            try:
                puppet.socket.sendall(answer)
            except OSError:
                continue


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


def _rollout(costs: Costs) -> Rollout:
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


def _framed(message: object) -> bytes:
    body = pickle.dumps(message)
    return HEADER.pack(len(body)) + body
