"""A run's results as plain values and rows, for trackers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from yardarm.results import Counts, EpisodeRecord, Rate, RunResult, TaskResult
from yardarm.stats import Interval

__all__ = ["Rows", "episode_rows", "named_tasks", "summary_values", "task_rows"]

# W&B shows no more rows of a table; the journal, in the artifact, has all episodes.
MOST_EPISODES = 10_000
EPISODE_COLUMNS = ("benchmark", "task", "index", "seed", "status", "steps", "return")
TASK_COLUMNS = (
    *("group", "task", "success_rate", "successes", "episodes", "errors"),
    *("interval_low", "interval_high", "mean_steps", "mean_return"),
)


@dataclass(frozen=True, slots=True)
class Rows:
    """A table."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def named_tasks(result: RunResult) -> dict[str, TaskResult]:
    """The tasks by name, or by benchmark/name if there are several benchmarks."""
    several = len({task.task.benchmark for task in result.tasks}) > 1
    return {f"{task.task.benchmark}/{task.task.name}" if several else task.task.name: task for task in result.tasks}


def summary_values(result: RunResult) -> dict[str, Any]:
    """Rates with counts and intervals: overall, per group and per task; and the state of early stopping."""
    uncertainty = result.uncertainty
    over = uncertainty.per_task if uncertainty.over_tasks == "pooled" else uncertainty.over_tasks

    def of_several(tasks: Sequence[Sequence[EpisodeRecord]]) -> dict[str, Any]:
        rate = Rate.over(tasks, uncertainty)
        return _values(rate.counts, rate.interval, over)

    values = {
        "overall": {
            **of_several(result.by_task()),
            "confidence": uncertainty.confidence,
            "planned_episodes": result.planned,
            "wall_s": result.wall_s,
        },
        "group": {name: of_several([task.episodes for task in tasks]) for name, tasks in result.groups().items()},
        "task": {
            name: _values(task.counts, uncertainty.of_task(task.counts.of_task), uncertainty.per_task)
            for name, task in named_tasks(result).items()
        },
        "stopping": result.stopping.to_json() if result.stopping else {},
    }
    return dict(_flat("", values))


def task_rows(result: RunResult) -> Rows:
    """One row per task, in each group that selects it."""
    rows = []
    for group, tasks in result.groups().items():
        for task in tasks:
            counts, interval = task.counts, result.uncertainty.of_task(task.counts.of_task)
            ended = [record for record in task.episodes if record.status != "error"]
            means = _mean(record.steps for record in ended), _mean(record.sum_reward for record in ended)
            numbers = (counts.rate, counts.successes, counts.episodes, counts.errors, interval.low, interval.high)
            rows.append((group, task.task.name, *numbers, *means))
    return Rows(TASK_COLUMNS, rows)


def episode_rows(result: RunResult) -> Rows:
    """One row per episode, in the order of the plan, up to the limit."""
    return Rows(EPISODE_COLUMNS, [_episode(record) for record in result.episodes[:MOST_EPISODES]])


def _episode(record: EpisodeRecord) -> tuple[Any, ...]:
    key, ended = record.key, record.status != "error"
    outcome = (record.steps, record.sum_reward) if ended else (None, None)  # unknown after an error
    return (key.benchmark, key.task, key.index, key.seed, record.status, *outcome)


def _values(counts: Counts, interval: Interval, method: str) -> dict[str, Any]:
    return {
        "success_rate": counts.rate,
        "interval_low": interval.low,
        "interval_high": interval.high,
        "interval_method": method,
        "successes": counts.successes,
        "episodes": counts.episodes,
        "errors": counts.errors,
    }


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Nested values by names joined with slashes: W&B groups by the part before the slash."""
    if not isinstance(value, Mapping):
        yield name, value
        return
    for own, inner in value.items():
        yield from _flat(f"{name}/{own}" if name else str(own), inner)


def _mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else None
