"""A run's results: per task, per group and overall, each rate with its counts and its interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from yardarm.results.manifest.stopping import StoppingRecord
from yardarm.results.record import EpisodeRecord
from yardarm.results.uncertainty import Uncertainty
from yardarm.stats import Interval, TaskCounts, wilson
from yardarm.tasks import TaskSpec

__all__ = ["Counts", "Rate", "RunResult", "TaskResult", "counted", "summarise"]


@dataclass(frozen=True, slots=True)
class Counts:
    """Successes, and the finished episodes they are out of; errors are not among them."""

    successes: int
    episodes: int
    errors: int

    def __repr__(self) -> str:
        errors = f", {self.errors} error{'s'[: self.errors - 1]}" if self.errors else ""
        return f"Counts({self.successes}/{self.episodes} solved{errors})"

    @classmethod
    def of(cls, records: Iterable[EpisodeRecord]) -> Counts:
        """Count records."""
        statuses = [record.status for record in records]
        errors = statuses.count("error")
        return cls(statuses.count("success"), len(statuses) - errors, errors)

    @property
    def rate(self) -> float | None:
        """The success rate, from 0 to 1; None without episodes."""
        return self.successes / self.episodes if self.episodes else None

    @property
    def interval(self) -> Interval:
        """Wilson's 95% interval of the rate."""
        return wilson(self.successes, self.episodes)

    @property
    def of_task(self) -> TaskCounts:
        """The same for statistics, which know no errors."""
        return TaskCounts(self.successes, self.episodes)

    @property
    def errors_failed(self) -> Counts:
        """What it would be if every error had been a failure."""
        return Counts(self.successes, self.episodes + self.errors, 0)

    @property
    def errors_succeeded(self) -> Counts:
        """What it would be if every error had been a success."""
        return Counts(self.successes + self.errors, self.episodes + self.errors, 0)


@dataclass(frozen=True, slots=True)
class Rate:
    """Successes of several tasks, and the interval of their rate."""

    counts: Counts
    interval: Interval

    @classmethod
    def over(cls, tasks: Sequence[Sequence[EpisodeRecord]], uncertainty: Uncertainty) -> Rate:
        """Of each task's episodes."""
        counts = Counts.of(record for task in tasks for record in task)
        return cls(counts, uncertainty.of_tasks([Counts.of(task).of_task for task in tasks]))

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        counts, interval = self.counts, self.interval
        return {
            "rate": counts.rate,
            "successes": counts.successes,
            "episodes": counts.episodes,
            "errors": counts.errors,
            "low": interval.low,
            "high": interval.high,
        }


@dataclass(frozen=True, slots=True)
class TaskResult:
    """A task as it was selected, and its episodes in the order of their index."""

    task: TaskSpec
    episodes: tuple[EpisodeRecord, ...]

    @property
    def counts(self) -> Counts:
        """Its successes and errors."""
        return Counts.of(self.episodes)


@dataclass(frozen=True, slots=True)
class RunResult:
    """The results of a run."""

    path: Path
    tasks: tuple[TaskResult, ...]
    """As selected: a task that is in two groups is there for each."""
    planned: int
    """How many episodes the plan has, over distinct tasks."""
    wall_s: float = 0.0
    warnings: tuple[str, ...] = ()
    """What is odd about the actions that were played."""
    uncertainty: Uncertainty = Uncertainty()
    """How intervals are computed."""
    against: Path | None = None
    """The run that it is to be compared with."""
    errors_of_opponent: int = 0
    """How many episodes of a second policy ended in errors."""
    stopping: StoppingRecord | None = None
    """The state of a run that may stop early, which counts episodes up to its decision only."""
    shard: str | None = None
    """Which part of an evaluation it is, "2/8", if it is not all of it."""
    mixed_versions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """What its sessions used in several versions, and in which: then it mixes different experiments."""

    @property
    def episodes(self) -> tuple[EpisodeRecord, ...]:
        """Every episode once, in the order of the plan."""
        return tuple({record.key: record for task in self.tasks for record in task.episodes}.values())

    @property
    def counts(self) -> Counts:
        """Successes over all tasks, each episode counted once."""
        return Counts.of(self.episodes)

    def by_task(self) -> list[tuple[EpisodeRecord, ...]]:
        """The episodes of each task once, whatever groups it was selected by."""
        return list({task.task.key(): task.episodes for task in self.tasks}.values())

    def groups(self) -> dict[str, list[TaskResult]]:
        """The tasks by the selector that they came by; with the benchmark's name, where there are several."""
        several = len({result.task.benchmark for result in self.tasks}) > 1
        groups: dict[str, list[TaskResult]] = {}
        for result in self.tasks:
            task = result.task
            groups.setdefault(f"{task.benchmark}/{task.group}" if several else task.group, []).append(result)
        return groups


def counted(records: Iterable[EpisodeRecord], stopping: StoppingRecord | None) -> list[EpisodeRecord]:
    """The records that count: of a run that may stop early, those whose turn had come.

    Later ones may have finished already, and then are on disk; but which of them did depends on how long they took.
    """
    if stopping is None:
        return list(records)
    return [record for record in records if record.place is not None and record.place < stopping.released]


def summarise(
    path: Path, tasks: Sequence[TaskSpec], records: Iterable[EpisodeRecord], planned: int, wall_s: float
) -> RunResult:
    """Sort records under the tasks they belong to."""
    by_task: dict[tuple[str, str, str], list[EpisodeRecord]] = {}
    for record in sorted(records, key=lambda record: record.key.index):
        by_task.setdefault(record.key.task_key, []).append(record)
    results = tuple(TaskResult(task, tuple(by_task.get(task.key(), ()))) for task in tasks)
    return RunResult(path, results, planned, wall_s)
