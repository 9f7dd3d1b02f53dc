"""Measures what workers and policies cost during a run.

Wall time says little where many compete for the same cores. The kernel knows how long a thread has had a
core and how long it waited for one, so what is left was spent with a GPU, a clock or a network.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from yardarm.engine.inference import Inference, Tally
from yardarm.engine.player import Player
from yardarm.engine.tuning.capacity import Costs, Thinking
from yardarm.envs import ProcessPool
from yardarm.machine import CpuTime, busy_core_seconds, cpu_time
from yardarm.policies import BatchedPolicy, Policy

__all__ = ["Measured", "Meter"]

# Nothing is quicker than this; it also avoids a division by zero.
SHORTEST_S = 1e-6


@dataclass(frozen=True, slots=True)
class Measured:
    """What some seconds of a run have shown."""

    seconds: float
    rounds: int
    """How often workers were given something to play, without those that were building their simulator."""
    inferences: int
    costs: Costs
    others: float = 0.0
    """How many cores other programs used at the same time."""

    @property
    def rate(self) -> float:
        """Rounds a second."""
        return self.rounds / self.seconds


class Meter:
    """Adds up, from sample to sample, what those workers cost that have built their simulator."""

    def __init__(self, pool: ProcessPool, players: Sequence[Player], inferences: Sequence[Inference]) -> None:
        self._pool = pool
        self._players = players
        self._inferences = inferences
        self.restart()

    @property
    def seconds(self) -> float:
        """How long it has measured."""
        return time.monotonic() - self._started

    @property
    def rounds(self) -> int:
        """How many have been measured since the start."""
        return int(self._workers[0])

    def restart(self) -> None:
        """Start measuring again."""
        self._started = time.monotonic()
        self._workers = np.zeros(4)
        self._last = self._read_workers()
        self._tally = self._read_tally()
        self._host = self._read_host()
        self._machine_s = busy_core_seconds()
        self._workers_s = 0.0

    def sample(self) -> None:
        """Read the workers again; do it often, because the numbers of a dismissed worker are lost."""
        now = self._read_workers()
        for pid, reading in now.items():
            before = self._last.get(pid, np.zeros(4))
            self._workers_s += reading[2] - before[2]
            if before[0]:
                self._workers += reading - before
        self._last = now

    def measured(self) -> Measured:
        """What a round has cost since the start."""
        rounds, busy_s, used_s, queued_s = self._workers
        compute_s = max(used_s / rounds, SHORTEST_S)
        wait_s = max(0.0, busy_s - used_s - queued_s) / rounds
        thinking = self._thinking() if self._inferences else None
        answers = self._read_tally().answers - self._tally.answers
        costs = Costs(compute_s, wait_s, thinking)
        return Measured(self.seconds, int(rounds), answers, costs, self._others())

    def _others(self) -> float:
        machine_s = busy_core_seconds()
        if machine_s is None or self._machine_s is None:
            return 0.0
        own_s = self._workers_s + self._read_host()[0] - self._host[0]
        return max(0.0, machine_s - self._machine_s - own_s) / self.seconds

    def _thinking(self) -> Thinking | None:
        tally = self._read_tally() - self._tally
        process_s, own_s, used_s, queued_s = self._read_host() - self._host
        if not tally.answers:
            return None
        # Its threads wait for cores between two inferences, too, but never think for less time than they computed.
        thought_s = max(tally.seconds - queued_s, min(used_s, tally.seconds), SHORTEST_S)
        policy_s = process_s - own_s
        lanes = min(player.traits.lanes or 1 for player in self._players)
        # The scheduler's own work for a request is done by one thread, too.
        around_s = max(0.0, process_s - policy_s) / (tally.answers if lanes > 1 else tally.load)
        rows = _rows([player.policy for player in self._players])
        # Over the whole run: workers in step with each other ask in batches of one size, but not while they were built.
        fixed_s, each_s = _line(self._read_tally(), thought_s / tally.seconds, rows)
        cores = max(0.0, policy_s) / thought_s
        return Thinking(fixed_s, each_s + around_s, rows or 1, cores, lanes)

    def _read_workers(self) -> dict[int, np.ndarray]:
        """Of each worker: rounds, seconds busy, seconds on a core, seconds waiting for one."""
        readings = {}
        for worker in self._pool.workers:
            cpu = cpu_time(worker.pid)
            if cpu is not None:
                readings[worker.pid] = np.array([worker.rounds, worker.busy_s, cpu.used_s, cpu.queued_s])
        return readings

    def _read_tally(self) -> Tally:
        return sum((inference.tally for inference in self._inferences), Tally())

    def _read_host(self) -> np.ndarray:
        """Seconds on a core of this process, this thread and policies' threads, and what those waited for one."""
        threads = [thread for inference in self._inferences for thread in inference.threads]
        cpu = cpu_time(threads=threads) or CpuTime(0.0, 0.0)
        return np.array([time.process_time(), time.thread_time(), cpu.used_s, cpu.queued_s])


def _rows(policies: Sequence[Policy]) -> int | None:
    """The smallest micro-batch; None if any of the policies takes batches as they come."""
    rows = [policy.batching.rows if isinstance(policy, BatchedPolicy) else None for policy in policies]
    known = [count for count in rows if count is not None]
    return min(known) if known and len(known) == len(rows) else None


def _line(tally: Tally, speed: float, rows: int | None) -> tuple[float, float]:
    """What any answer costs, and what each request, or micro-batch, adds: a straight line by least squares."""
    if rows is not None:
        return 0.0, speed * tally.seconds / max(tally.answers, tally.load / rows)
    mean_s, load = tally.seconds / tally.answers, tally.load / tally.answers
    spread = tally.load_squared / tally.answers - load**2
    # If nothing is known about other loads, assume that more are free: if that is wrong, the next measurement shows it.
    slope = (tally.load_seconds / tally.answers - load * mean_s) / spread if spread > 0.01 else 0.0
    each_s = min(max(slope, 0.0), mean_s / load)
    return speed * (mean_s - each_s * load), speed * each_s
