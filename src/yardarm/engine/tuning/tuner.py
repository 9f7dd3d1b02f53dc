"""Fits the number of workers to what a run turns out to cost. It never changes results: those do not depend on it.

A run begins with a number by rule. After some seconds the measured costs go into a queueing model, which
says how fast other numbers would be. This is repeated now and then, because other tasks may have other costs.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from yardarm.engine.options import MOST_WORKERS
from yardarm.engine.player import Player
from yardarm.engine.tuning.capacity import throughput
from yardarm.engine.tuning.metering import Measured, Meter
from yardarm.engine.workers import in_even_rounds
from yardarm.envs import Pool, ProcessPool
from yardarm.machine import available_memory, cpu_time, memory_of, usable_cores
from yardarm.tasks import EpisodeTiming

__all__ = ["Tuner", "TuningChoice", "TuningLimits", "choose_workers", "tuner_for"]

SAMPLE_EVERY_S = 0.25
# A measurement takes at least this long, and this many rounds of each worker.
MEASURE_S = 3.0
MEASURE_ROUNDS = 8
# Shorter runs are not worth the trouble.
SHORTEST_REST_S = 5.0
# The model is accurate to a few percent: more workers must gain more than that, and the fewest that do are chosen.
TOLERANCE = 0.03
WORTH = 0.06
# Fewer workers save memory only: that must cost nothing.
FREE = 0.01
# Costs that were measured with three workers say little about fifty.
FARTHEST = 4
# The share of free memory that workers may use; the rest is for other programs, and for workers that grow.
SHARE_OF_MEMORY = 0.5
# What other programs leave of the cores is measured over seconds only, and rounding may make it negative.
LEAST_CORES = 0.5
# Other programs are mentioned if they use at least this many cores.
BUSY_OTHERS = 0.25


@dataclass(frozen=True, slots=True)
class TuningLimits:
    """What a choice has to keep to."""

    cores: int
    most: int
    """How many workers the policy and memory allow."""
    episodes: int
    """How many episodes are left, including those that run now."""
    rest_s: float
    """How long the rest will take if nothing changes."""
    start_s: float = 0.0
    """How long the workers took to build their simulators, all at once."""


@dataclass(frozen=True, slots=True)
class TuningChoice:
    """A number of workers, and why."""

    workers: int
    before: int
    predicted: dict[int, float]
    """Rounds a second by the number of workers."""
    measured: Measured
    limits: TuningLimits
    episode_s: Mapping[str, float] = field(default_factory=dict)
    """Where the mean episode's seconds went: resets, steps, looks, inferences; empty if none has finished yet."""

    @property
    def reason(self) -> str:
        """One line for a log."""
        others = f"; other programs use {self.measured.others:.1f} cores" if self.measured.others > BUSY_OTHERS else ""
        return f"{self._costs()}; {self._gain()}{others}"

    @property
    def text(self) -> str:
        """What was chosen, and the reason."""
        if self.workers == self.before:
            return f"{self.workers} worker(s) are right: {self.reason}"
        return f"{self.workers} workers instead of {self.before}: {self.reason}"

    def _costs(self) -> str:
        costs, thinking = self.measured.costs, self.measured.costs.thinking
        waiting = f" and {_seconds(costs.wait_s)} of waiting" if costs.wait_s > costs.compute_s / 20 else ""
        computing = f"{_seconds(costs.compute_s)} of a core{waiting}"
        if thinking is None:
            return f"an episode takes {computing}"
        inference_s = thinking.fixed_s + thinking.each_s
        return f"an inference takes {_seconds(inference_s)}, a worker's way to the next one {computing}"

    def _gain(self) -> str:
        thinking = self.measured.costs.thinking
        now = f"{self.before} gave {self.measured.rate:.3g} {'inferences' if thinking else 'episodes'} a second"
        if self.workers != self.before:
            return f"{now}, {self.workers} should give {self._rate(self.workers):.3g}"
        best = max(self.predicted, key=lambda count: round(self._rate(count), 3))
        gain = self._rate(best) / self.measured.rate - 1
        return f"{now}, {f'{best} would give {gain:.0%} more' if gain >= 0.01 else 'more would not give more'}"

    def _rate(self, count: int) -> float:
        """What a number should give: the model's ratio, of what was really reached."""
        return self.measured.rate * self.predicted[count] / self.predicted[self.before]

    def to_json(self) -> dict[str, Any]:
        """For the manifest."""
        predicted = {str(count): round(self._rate(count), 3) for count in self.predicted}
        return {
            "workers": self.workers,
            "instead_of": self.before,
            "reason": self.reason,
            "measured": asdict(self.measured),
            "episode_s": dict(self.episode_s),
            "limits": asdict(self.limits),
            "predicted_rounds_per_s": predicted,
        }


def choose_workers(measured: Measured, current: int, limits: TuningLimits) -> TuningChoice:
    """More workers if that is worth it, fewer if that costs nothing; otherwise no change."""
    most = max(1, min(limits.most, limits.episodes, FARTHEST * current))
    numbers = range(1, max(most, current) + 1)
    # More workers must be worth it on the cores that other programs leave; fewer must do when those have ended.
    left = max(LEAST_CORES, limits.cores - measured.others)
    predicted = {count: throughput(measured.costs, left, count) for count in numbers}
    alone = {count: throughput(measured.costs, limits.cores, count) for count in numbers}
    left_s = {count: _left_s(count, predicted, current, limits) for count in numbers}
    alone_s = {count: _left_s(count, alone, current, limits) for count in numbers}
    more = _fewest(left_s, most, TOLERANCE)
    fewer = _fewest(alone_s, most, FREE)
    chosen = min(current, most)
    if more > current and left_s[more] < (1 - WORTH) * left_s[current]:
        chosen = max(current, in_even_rounds(limits.episodes, more))
    elif fewer <= current / 2:
        chosen = fewer
    return TuningChoice(chosen, current, predicted, measured, limits)


def _fewest(left_s: dict[int, float], most: int, tolerance: float) -> int:
    """The smallest number that is as good as the best, within a tolerance."""
    allowed = {count: seconds for count, seconds in left_s.items() if count <= most}
    best_s = min(allowed.values())
    return min(count for count, seconds in allowed.items() if seconds <= (1 + tolerance) * best_s)


def _left_s(count: int, predicted: dict[int, float], current: int, limits: TuningLimits) -> float:
    """How long the rest takes: new simulators are built first, and at the end not all workers are busy."""
    tail = (limits.episodes + count / 2) / (limits.episodes + current / 2)
    building_s = limits.start_s * max(0, count - current) / current
    return limits.rest_s * tail * predicted[current] / predicted[count] + building_s


class Tuner:
    """Watches a run, and changes the number of its workers if that is worth it."""

    def __init__(
        self, pool: ProcessPool, players: Sequence[Player], episodes: int, say: Callable[[TuningChoice], None]
    ) -> None:
        self._pool = pool
        self._episodes = episodes
        self._say = say
        inferences = [player.inference for player in players if player.inference is not None]
        self._most = min(MOST_WORKERS, *(player.traits.most_episodes or MOST_WORKERS for player in players))
        self._meter = Meter(pool, players, inferences)
        self._began = self._now = time.monotonic()
        self._next_sample = self._next_measurement = self._began
        self._measuring = False
        self._finished = 0
        self._spent: Counter[str] = Counter()
        self._chosen = 0

    def count(self, timing: EpisodeTiming) -> None:
        """An episode has finished; this is where its time went."""
        self._finished += 1
        self._spent.update(asdict(timing))

    def look(self) -> None:
        """See whether it is time to measure, or to choose; called often."""
        self._now = time.monotonic()
        if self._now < self._next_sample:
            return
        self._next_sample = self._now + SAMPLE_EVERY_S
        if self._measuring:
            self._meter.sample()
            self._choose_if_measured()
        elif self._now >= self._next_measurement and self._most_are_playing():
            self._meter.restart()
            self._measuring = True

    def _most_are_playing(self) -> bool:
        """Whether simulators are built; where tasks are short, some are always being built."""
        return 2 * sum(worker.rounds > 0 for worker in self._pool.workers) > self._pool.size

    def _choose_if_measured(self) -> None:
        if self._meter.seconds < MEASURE_S or self._meter.rounds < MEASURE_ROUNDS * len(self._pool.workers):
            return
        self._measuring = False
        # Wait twice as long each time: a long run is checked a few times only.
        self._next_measurement = self._now + (self._now - self._began)
        limits = self._limits()
        if limits.rest_s < SHORTEST_REST_S or limits.episodes <= self._pool.size:
            return
        spent = {name: round(seconds / self._finished, 6) for name, seconds in self._spent.items()}
        choice = replace(choose_workers(self._meter.measured(), self._pool.size, limits), episode_s=spent)
        if not self._chosen or choice.workers != self._pool.size:
            self._say(choice)
        self._chosen += 1
        self._pool.size = choice.workers

    def _limits(self) -> TuningLimits:
        size = self._pool.size
        # Running episodes count half.
        done = self._finished + size / 2
        left = max(0.0, self._episodes - done)
        starts = [worker.start_s for worker in self._pool.workers if worker.start_s is not None]
        return TuningLimits(
            cores=usable_cores(),
            most=min(self._most, size + self._more_that_fit()),
            episodes=self._episodes - self._finished,
            rest_s=(self._now - self._began) * left / done,
            start_s=max(starts, default=0.0),
        )

    def _more_that_fit(self) -> int:
        each = max((memory_of(worker.pid) for worker in self._pool.workers), default=0)
        free = available_memory()
        return int(SHARE_OF_MEMORY * free / each) if each and free is not None else MOST_WORKERS


def tuner_for(
    pool: Pool, players: Sequence[Player], episodes: int, say: Callable[[TuningChoice], None]
) -> Tuner | None:
    """A tuner, if the number of workers can be changed and there is something to gain."""
    alike = len({player.policy.place for player in players}) == 1
    if not isinstance(pool, ProcessPool) or not alike or episodes <= pool.size or cpu_time() is None:
        return None
    return Tuner(pool, players, episodes, say)


def _seconds(value: float) -> str:
    if value >= 1:
        return f"{value:.1f} s"
    digits = max(0, 1 - math.floor(math.log10(max(value * 1000, 0.01))))
    return f"{value * 1000:.{min(digits, 2)}f} ms"
