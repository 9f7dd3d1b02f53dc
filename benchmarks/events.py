"""A discrete-event simulation of the scheduler: who waits for whom, with delays instead of work."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Literal

from stations import Station, Timeline

from yardarm.engine.queue import EpisodeQueue, Job
from yardarm.results.episode_writer import GROUP_EVERY_S
from yardarm.tasks import EpisodeSpec, TaskSpec


@dataclass(frozen=True)
class DriverCosts:
    """CPU-seconds of the scheduler's thread."""

    pass_s: float
    """For waking up to serve all reports."""
    look_s: float
    """For a report, and the order that answers it."""
    episode_s: float
    """For starting and recording an episode."""

    def stretched(self, by: float) -> DriverCosts:
        """The costs on a core that other programs also use."""
        return DriverCosts(by * self.pass_s, by * self.look_s, by * self.episode_s)

    def of(self, passes: float, looks: float, episodes: float) -> float:
        return passes * self.pass_s + looks * self.look_s + episodes * self.episode_s


@dataclass(frozen=True)
class GroupCosts:
    """Seconds for writing a group of episodes: for any group, and for each of its episodes."""

    group_s: float
    episode_s: float

    def of(self, episodes: int) -> float:
        return self.group_s + episodes * self.episode_s


@dataclass(frozen=True)
class WriterCosts:
    """Time until a group is on disk, its CPU time, and the time from the start of one group to the next."""

    disk: GroupCosts
    cpu: GroupCosts
    every_s: float = GROUP_EVERY_S


@dataclass(frozen=True)
class World:
    """Seconds that a worker takes, and the size of its looks."""

    reset_s: float
    chunk_s: float
    """For the steps between two looks."""
    look_s: float
    chunks: int
    look_bytes: int = 480 * 480 * 3
    build_s: float = 0.25
    """For a worker that changes its task."""
    spread: float = 0.2
    """Every time varies by up to this share."""

    @property
    def episode_s(self) -> float:
        """Seconds of an episode without waiting."""
        return self.reset_s + self.chunks * (self.look_s + self.chunk_s)


@dataclass(frozen=True)
class Replicas:
    """Copies of the policy; with none, it answers at once in the main process."""

    count: int = 0
    batch_s: float = 0.0
    row_s: float = 0.0
    rows: int = 1
    """The most rows in a batch."""

    def seconds(self, rows: int) -> float:
        return self.batch_s + rows * self.row_s


@dataclass(frozen=True)
class Network:
    """Between workers and the main process, and in front of each replica; by default there is none."""

    latency_s: float = 0.0
    bytes_per_s: float = math.inf


@dataclass(frozen=True)
class Setting:
    """Everything that an evaluation's speed depends on."""

    workers: int
    world: World
    driver: DriverCosts
    writer: WriterCosts
    replicas: Replicas = Replicas()
    network: Network = Network()

    def bounds(self) -> dict[str, float]:
        """Episodes per second that each part could do if it were the only limit and always busy."""
        looks, replicas = self.world.chunks, self.replicas
        full = replicas.seconds(replicas.rows)
        transfer_s = self.world.look_bytes / self.network.bytes_per_s
        return {
            "workers": self.workers / self.world.episode_s,
            "policy": _share(replicas.count * replicas.rows, full * looks) if replicas.count else math.inf,
            "network": _share(replicas.count, transfer_s * looks) if replicas.count else math.inf,
            "driver": _share(1.0, self.driver.of(0, looks, 1)),
            "journal": _share(1.0, self.writer.disk.episode_s),
        }


def _share(of: float, by: float) -> float:
    return of / by if by else math.inf


@dataclass(eq=False)
class _Worker:
    """A worker's state: its job, and the number of chunks played."""

    job: Job
    played: int = 0
    replica: int = 0


@dataclass(frozen=True)
class _Call:
    """An event that the driver must handle."""

    about: Literal["look", "end", "answer", "written"]
    workers: Sequence[_Worker]


@dataclass(frozen=True)
class Written:
    """How many episodes were on disk, and when."""

    at_s: float
    episodes: int


@dataclass(frozen=True)
class _Moment:
    """What had been done by this time."""

    at_s: float = 0.0
    scheduling_s: float = 0.0
    writing_s: float = 0.0


@dataclass
class Outcome:
    """The results of a simulation."""

    written: list[Written] = field(default_factory=list)
    looks: int = 0
    wall_s: float = 0.0
    rate: float = 0.0
    """Episodes per second, after the warm-up."""
    scheduling: float = 0.0
    """Cores of the scheduler's thread, after the warm-up."""
    writing: float = 0.0
    """Cores of the threads that write."""


class Evaluation:
    """The scheduler's cycle: look, ask, play; at the end of an episode write it, and start the next."""

    def __init__(self, setting: Setting, jobs: Sequence[Job], seed: int = 0) -> None:
        self._setting = setting
        self._timeline = timeline = Timeline()
        self._random = Random(seed)
        self._queue = EpisodeQueue(jobs)
        self._driver = Station[_Call](timeline, self._pass_seconds, self._pass)
        self._writer = Station[_Worker](
            timeline, lambda batch: setting.writer.disk.of(len(batch)), self._write, every_s=setting.writer.every_s
        )
        self._writing_s = 0.0
        replicas, transfer_s = setting.replicas, setting.world.look_bytes / setting.network.bytes_per_s
        self._replicas = [
            Station[_Worker](timeline, lambda batch: replicas.seconds(len(batch)), self._answer, replicas.rows)
            for _ in range(replicas.count)
        ]
        self._links = [
            Station[_Worker](timeline, lambda batch: transfer_s, self._arrive, 1) for _ in range(replicas.count)
        ]
        self._asked = [0] * replicas.count
        self._outcome = Outcome()

    def run(self) -> Outcome:
        """Play all jobs, from hiring the first worker to the last line in the journal."""
        for _ in range(self._setting.workers):
            job = self._queue.take()
            if job is not None:
                self._begin(_Worker(job), built=False)
        while self._timeline.step():
            pass
        return self._measured(_Moment())

    def run_steadily(self, looks: int) -> Outcome:
        """Start with every worker at a different point of its episode, and stop after this many looks."""
        world, count, outcome = self._setting.world, self._setting.workers, self._outcome
        phases = [place / count for place in range(count)]
        self._random.shuffle(phases)
        for phase in phases:
            job = self._queue.take()
            assert job is not None, "there must be more jobs than workers"
            worker, within = _Worker(job, int(phase * world.chunks)), self._random.random()
            self._timeline.after(within * (world.chunk_s + world.look_s), partial(self._look, worker))
        while outcome.looks < looks / 4 and self._timeline.step():
            pass
        warm = _Moment(self._timeline.now, self._driver.busy_s, self._writing_s)
        while outcome.looks < looks and self._timeline.step():
            pass
        return self._measured(warm)

    def _measured(self, since: _Moment) -> Outcome:
        outcome = self._outcome
        outcome.wall_s = seconds = self._timeline.now - since.at_s
        # Measured between groups, because groups may be large.
        written = [own for own in (Written(0.0, 0), *outcome.written) if own.at_s >= since.at_s]
        if len(written) > 1:
            outcome.rate = (written[-1].episodes - written[0].episodes) / (written[-1].at_s - written[0].at_s)
        outcome.scheduling = (self._driver.busy_s - since.scheduling_s) / seconds
        outcome.writing = (self._writing_s - since.writing_s) / seconds
        return outcome

    def _begin(self, worker: _Worker, built: bool) -> None:
        seconds = self._setting.world.reset_s + (0.0 if built else self._setting.world.build_s)
        self._after(seconds, lambda: self._look(worker))

    def _look(self, worker: _Worker) -> None:
        self._after(self._setting.world.look_s, lambda: self._report("look", worker))

    def _play(self, worker: _Worker) -> None:
        worker.played += 1
        ends = worker.played == self._setting.world.chunks
        then = (lambda: self._report("end", worker)) if ends else (lambda: self._look(worker))
        self._after(self._setting.world.chunk_s, then)

    def _after(self, seconds: float, action: Callable[[], None]) -> None:
        """Let a worker do something for about this long."""
        spread = self._setting.world.spread
        self._timeline.after(seconds * self._random.uniform(1 - spread, 1 + spread), action)

    def _report(self, about: Literal["look", "end", "answer"], worker: _Worker) -> None:
        self._timeline.after(self._setting.network.latency_s, lambda: self._driver.put(_Call(about, [worker])))

    def _pass_seconds(self, calls: Sequence[_Call]) -> float:
        halves = sum(call.about in ("look", "answer") for call in calls)
        # Without replicas, the answer is part of the pass that receives the look.
        looks = halves / 2 if self._replicas else halves
        return self._setting.driver.of(1, looks, sum(call.about == "end" for call in calls))

    def _pass(self, calls: Sequence[_Call]) -> None:
        for call in calls:
            for worker in call.workers:
                if call.about == "end":
                    self._end(worker)
                elif call.about == "look" and self._replicas:
                    self._ask(worker)
                elif call.about != "written":
                    self._outcome.looks += 1
                    self._timeline.after(self._setting.network.latency_s, partial(self._play, worker))

    def _ask(self, worker: _Worker) -> None:
        """Send the look over the link of the replica with the fewest waiting requests."""
        worker.replica = min(range(len(self._asked)), key=self._asked.__getitem__)
        self._asked[worker.replica] += 1
        self._timeline.after(self._setting.network.latency_s, lambda: self._links[worker.replica].put(worker))

    def _arrive(self, batch: Sequence[_Worker]) -> None:
        for worker in batch:
            self._replicas[worker.replica].put(worker)

    def _answer(self, batch: Sequence[_Worker]) -> None:
        for worker in batch:
            self._asked[worker.replica] -= 1
            self._report("answer", worker)

    def _end(self, worker: _Worker) -> None:
        self._writer.put(worker)
        self._queue.done(worker.job)
        job = self._queue.take(worker.job.episode.task)
        if job is not None:
            latency_s, built = self._setting.network.latency_s, job.task == worker.job.task
            self._timeline.after(latency_s, lambda: self._begin(_Worker(job), built))

    def _write(self, batch: Sequence[_Worker]) -> None:
        self._writing_s += self._setting.writer.cpu.of(len(batch))
        self._outcome.written.append(Written(self._timeline.now, _episodes(self._outcome) + len(batch)))
        self._driver.put(_Call("written", batch))


def _episodes(outcome: Outcome) -> int:
    return outcome.written[-1].episodes if outcome.written else 0


def jobs_of(tasks: Sequence[TaskSpec], episodes: int) -> list[Job]:
    """Jobs for this many episodes of each task."""
    return [Job(EpisodeSpec(task, index, index)) for task in tasks for index in range(episodes)]
