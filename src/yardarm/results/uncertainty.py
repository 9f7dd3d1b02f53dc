"""Computes the intervals of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from yardarm.stats import (
    CONFIDENCE,
    Interval,
    TaskCounts,
    bootstrap_mean,
    clopper_pearson,
    clustered,
    confidence_sequence,
    stratified,
    wilson,
)

__all__ = ["OVER_TASKS", "PER_TASK", "Uncertainty"]


def anytime(successes: int, trials: int, confidence: float) -> Interval:
    """An interval that is valid whenever a run stops."""
    return confidence_sequence({1.0: successes, 0.0: trials - successes}, confidence)


PER_TASK: dict[str, Callable[[int, int, float], Interval]] = {
    "wilson": wilson,
    "clopper_pearson": clopper_pearson,
    "anytime": anytime,
}
# "pooled" uses the method for a single task on the sum of all counts; these methods do not.
NOT_POOLED: dict[str, Callable[[Sequence[TaskCounts], float], Interval]] = {
    "stratified": stratified,
    "clustered": clustered,
}
OVER_TASKS = ("pooled", *NOT_POOLED)


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """The confidence of intervals, and the methods for the rates of one task and of several."""

    confidence: float = CONFIDENCE
    per_task: str = "wilson"
    over_tasks: str = "pooled"

    def __post_init__(self) -> None:
        known = self.per_task in PER_TASK and self.over_tasks in OVER_TASKS
        if not known or not 0 < self.confidence < 1:
            raise ValueError(f"unknown kind of interval: {self}")

    @classmethod
    def chosen(
        cls, confidence: float = CONFIDENCE, interval: str = "", over_tasks: str = "pooled", stop: str = ""
    ) -> Uncertainty:
        """The choice that follows from an evaluation's options."""
        # A run that may stop early must not use an interval that assumes a fixed number of episodes.
        usual = "anytime" if stop else "wilson"
        return cls(confidence, interval or usual, over_tasks)

    def of_task(self, task: TaskCounts) -> Interval:
        """An interval for a task's rate."""
        return PER_TASK[self.per_task](*task, self.confidence)

    def of_tasks(self, tasks: Sequence[TaskCounts]) -> Interval:
        """An interval for the rate over several tasks."""
        if self.over_tasks in NOT_POOLED:
            return NOT_POOLED[self.over_tasks](tasks, self.confidence)
        return self.of_task(_together(tasks))

    def all_of(self, tasks: Sequence[TaskCounts]) -> dict[str, Interval]:
        """Every method's interval for the rate over several tasks, by its name."""
        total = _together(tasks)
        if self.per_task == "anytime":  # the others are not valid for a run that may stop early
            return {"anytime": anytime(*total, self.confidence)}
        by_one = {name: method(*total, self.confidence) for name, method in PER_TASK.items()}
        over = {name: method(tasks, self.confidence) for name, method in NOT_POOLED.items()}
        return {**by_one, **(over if len(tasks) > 1 else {})}

    def of_mean(self, tasks: Sequence[Sequence[float]]) -> Interval | None:
        """An interval for the mean of any values, by bootstrap within each task."""
        return bootstrap_mean(tasks, self.confidence)


def _together(tasks: Sequence[TaskCounts]) -> TaskCounts:
    return TaskCounts(sum(task.successes for task in tasks), sum(task.trials for task in tasks))
