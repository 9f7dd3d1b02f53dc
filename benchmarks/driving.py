"""Drives the real main process with puppet workers, to measure what a pass, a look, an episode and writing cost."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any
from unittest import mock

import numpy as np
from events import DriverCosts, GroupCosts, WriterCosts
from processes import in_fresh_process
from puppets import Costs, PuppetPool, played_rollout
from scipy.optimize import nnls

from yardarm.engine import runner as runners
from yardarm.evaluation import EvalConfig, EvalOptions, EvaluationListener, evaluate
from yardarm.policies import ActionChunk, ObservationSpec, Request
from yardarm.results import EpisodeRecord, FinishedEpisode, Journal, PlayedEpisode, RunFolder
from yardarm.results.episode_writer import FLUSHES_AT_ONCE, write_group
from yardarm.results.record import EpisodeKey
from yardarm.tasks import EpisodeSpec, EpisodeTiming
from yardarm.tasks.metaworld import MetaworldConfig

INPUTS = ("observation.image", "observation.state")
# Measured by benchmarks/engine.py on this kind of machine: 480×480 by Mesa, episodes of 500 steps, chunks of 100.
META_WORLD = Costs(reset_s=0.03, step_s=0.0006, look_s=0.23)
WARM_UP_S = 3.0
TASKS = 50


class InstantPolicy:
    """Answers at once with the same actions, so that it costs the main process no more than a remote policy."""

    place = "host"
    quick = True
    id = "instant"
    wants = ObservationSpec(INPUTS)

    def __init__(self, chunk: int) -> None:
        self._chunk = ActionChunk(np.zeros((chunk, 4), np.float32))

    def start(self, episode: EpisodeSpec) -> None:
        """No state."""

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        return [self._chunk for _ in requests]


@dataclass(frozen=True)
class Mark:
    """The main process's clocks and counters when an episode was on disk."""

    wall_s: float
    cpu_s: float
    loop_s: float
    delayed_s: float
    episodes: int
    passes: int


class Clock(EvaluationListener):
    """Takes marks, from the end of the warm-up to the last episode."""

    def __init__(self) -> None:
        self.pool: PuppetPool | None = None
        self.marks: list[Mark] = []
        self._began = 0.0
        self._count = 0

    def started(self, path: Path, plans: Sequence[Any], missing: int, workers: int) -> None:
        self._began = time.perf_counter()

    def finished(self, record: EpisodeRecord) -> None:
        self._count += 1
        now = time.perf_counter()
        if now - self._began > WARM_UP_S:
            assert self.pool is not None
            loop_s, delayed_s = _scheduled()
            self.marks.append(Mark(now, time.process_time(), loop_s, delayed_s, self._count, self.pool.passes))


def _scheduled() -> tuple[float, float]:
    """Seconds that this thread ran, and seconds that it waited for a core."""
    ran, delayed, _ = Path("/proc/thread-self/schedstat").read_text().split()
    return int(ran) / 1e9, int(delayed) / 1e9


@dataclass(frozen=True)
class Drive:
    """What the main process did in the middle of a run."""

    workers: int
    costs: Costs
    wall_s: float
    cpu_s: float
    loop_s: float
    """CPU-seconds of the scheduler's thread alone."""
    delayed_s: float
    """Seconds that it waited for a core, because the machine was busy."""
    episodes: int
    passes: int
    late_s: float
    """How late the workers answered, on average."""

    @property
    def rate(self) -> float:
        """Episodes per second."""
        return self.episodes / self.wall_s

    @property
    def possible(self) -> float:
        """Episodes per second if no worker ever waited."""
        return self.workers / self.costs.episode_s

    @property
    def cores(self) -> float:
        """Cores used by all threads of the main process."""
        return self.cpu_s / self.wall_s

    @property
    def stretch(self) -> float:
        """The scheduler thread's time, with waiting for a core, relative to its CPU time."""
        return 1 + self.delayed_s / self.loop_s

    @property
    def cpu_ms(self) -> float:
        """CPU time per episode in ms."""
        return 1e3 * self.cpu_s / self.episodes


def drive(workers: int, seconds: float, costs: Costs = META_WORLD) -> Drive:
    """Run for about this many seconds, in a new process."""
    found, _ = in_fresh_process(partial(_drive, workers, seconds, costs), every_s=1.0)
    return found


def _drive(workers: int, seconds: float, costs: Costs) -> Drive:
    episodes = max(1, round(workers / costs.episode_s * (seconds + WARM_UP_S) / TASKS))
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder, _puppets(workers, costs, clock):
        tasks, options = (
            MetaworldConfig(task="easy,medium,hard,very_hard"),
            EvalOptions(n_episodes=episodes, batch_size=1),
        )
        evaluate(EvalConfig(tasks, InstantPolicy(costs.chunk), options, output_dir=Path(folder)), clock)
    # Without the end, when fewer and fewer workers are busy.
    marks = clock.marks[: max(2, int(0.85 * len(clock.marks)))]
    first, last = marks[0], marks[-1]
    return Drive(
        workers,
        costs,
        last.wall_s - first.wall_s,
        last.cpu_s - first.cpu_s,
        last.loop_s - first.loop_s,
        last.delayed_s - first.delayed_s,
        last.episodes - first.episodes,
        last.passes - first.passes,
        clock.pool.late_s if clock.pool else 0.0,
    )


@contextlib.contextmanager
def _puppets(workers: int, costs: Costs, clock: Clock) -> Iterator[None]:
    @contextlib.contextmanager
    def open_puppets(*_: Any) -> Iterator[tuple[PuppetPool, None]]:
        with contextlib.closing(PuppetPool(workers, costs, INPUTS)) as clock.pool:
            yield clock.pool, None

    with (
        mock.patch.object(runners, "open_pool", open_puppets),
        mock.patch.object(runners, "how_many_workers", return_value=workers),
    ):
        yield


def chunked(chunks: int, steps: int = 500) -> Costs:
    """Episodes as long as Meta-World's, but with another number of looks."""
    look_s = META_WORLD.chunks * META_WORLD.look_s / chunks
    return replace(META_WORLD, look_s=look_s, chunk=steps // chunks, chunks=chunks)


def fit_driver(drives: Sequence[Drive]) -> DriverCosts:
    """What a pass, a look and an episode cost the scheduler's thread, by least squares."""
    rows = [[run.passes / run.episodes, run.costs.chunks, 1.0] for run in drives]
    return DriverCosts(*_fit(rows, [run.loop_s / run.episodes for run in drives]))


def _fit(rows: Sequence[Sequence[float]], seconds: Sequence[float]) -> list[float]:
    """Non-negative costs, by least squares of relative errors."""
    weighted = np.asarray(rows) / np.asarray(seconds)[:, None]
    found, _ = nnls(weighted, np.ones(len(seconds)))
    return [float(cost) for cost in found]


@dataclass(frozen=True)
class Groups:
    """Seconds that the writer takes for groups of episodes, by their size."""

    wall_s: Mapping[int, float]
    cpu_s: Mapping[int, float]

    def fit(self) -> WriterCosts:
        """The cost of a group, and of an episode."""
        disk, cpu = (_fit([[1.0, size] for size in own], list(own.values())) for own in (self.wall_s, self.cpu_s))
        return WriterCosts(GroupCosts(*disk), GroupCosts(*cpu))


def time_groups(sizes: Sequence[int], rounds: int) -> Groups:
    """Write groups of these sizes as the writer does; the medians of all rounds."""
    wall: dict[int, list[float]] = {size: [] for size in sizes}
    cpu: dict[int, list[float]] = {size: [] for size in sizes}
    with (
        tempfile.TemporaryDirectory() as folder,
        ThreadPoolExecutor(FLUSHES_AT_ONCE) as threads,
        Journal(Path(folder) / "episodes.jsonl") as journal,
    ):
        numbers = itertools.count()
        for size in [size for _ in range(rounds) for size in sizes]:
            group = [_finished_episode(RunFolder(Path(folder)), journal, next(numbers)) for _ in range(size)]
            started = time.perf_counter(), time.process_time()
            write_group(group, threads)
            wall[size].append(time.perf_counter() - started[0])
            cpu[size].append(time.process_time() - started[1])
    wall_s, cpu_s = ({size: median(seconds) for size, seconds in own.items()} for own in (wall, cpu))
    return Groups(wall_s, cpu_s)


def in_ms(costs: GroupCosts) -> str:
    return f"{1e3 * costs.group_s:.1f} + {1e3 * costs.episode_s:.2f}·n"


def _finished_episode(folder: RunFolder, journal: Journal, number: int) -> FinishedEpisode:
    rollout = played_rollout(META_WORLD)
    played = PlayedEpisode(rollout.actions, rollout.rewards, rollout.initial_state, rollout.travel)
    key = EpisodeKey("instant", "metaworld", "0", f"task-{number % TASKS}", number, number)
    marks = {str(step): value for step, value in rollout.fingerprints.items()}
    record = EpisodeRecord(key, "failure", len(rollout.rewards), fingerprints=marks, timing=EpisodeTiming())
    return FinishedEpisode(record, played, folder, journal)
