"""A run's results: per task, per group and overall, each rate with its counts and its interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from yardarm.results.record import EpisodeRecord
from yardarm.stats import Interval, wilson
from yardarm.tasks import TaskSpec

__all__ = ["Counts", "RunResult", "TaskResult", "summarise"]


@dataclass(frozen=True, slots=True)
class Counts:
    """Successes out of so many episodes that came to an end; errors are not among them."""

    successes: int
    episodes: int
    errors: int

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

    @property
    def episodes(self) -> tuple[EpisodeRecord, ...]:
        """Every episode once, in the order of the plan."""
        return tuple({record.key: record for task in self.tasks for record in task.episodes}.values())

    @property
    def counts(self) -> Counts:
        """Successes over all tasks, each episode counted once."""
        return Counts.of(self.episodes)

    def groups(self) -> dict[str, list[TaskResult]]:
        """The tasks by the selector that they came by; with the benchmark's name, where there are several."""
        several = len({result.task.benchmark for result in self.tasks}) > 1
        groups: dict[str, list[TaskResult]] = {}
        for result in self.tasks:
            task = result.task
            groups.setdefault(f"{task.benchmark}/{task.group}" if several else task.group, []).append(result)
        return groups


def summarise(
    path: Path, tasks: Sequence[TaskSpec], records: Iterable[EpisodeRecord], planned: int, wall_s: float
) -> RunResult:
    """Sort records under the tasks they belong to."""
    by_task: dict[tuple[str, str, str], list[EpisodeRecord]] = {}
    for record in sorted(records, key=lambda record: record.key.index):
        key = record.key
        by_task.setdefault((key.benchmark, key.env, key.task), []).append(record)
    results = tuple(TaskResult(task, tuple(by_task.get(task.key(), ()))) for task in tasks)
    return RunResult(path, results, planned, wall_s)
