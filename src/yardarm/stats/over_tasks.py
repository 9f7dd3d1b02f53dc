"""Intervals for the success rate over several tasks. Which one to use depends on what the tasks stand for.

* `pooled`: these tasks, with all episodes pooled. The default: simple, and too wide rather than too narrow.
* `stratified`: exactly these tasks. If tasks differ in difficulty, less is left to chance than pooling suggests, so
  this interval is narrower.
* `clustered`: new tasks like these. Its width depends on the number of tasks and on how much they differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy  # its modules are imported on first use, because that takes half a second

from yardarm.stats.intervals import CONFIDENCE, Interval, check_confidence, quantile, score_interval, wilson

__all__ = ["TaskCounts", "clustered", "pooled", "stratified"]


# The weight of a task that is never solved, and of one that always is, added to the spread between tasks.
EXTREME_WEIGHT = 0.1


class TaskCounts(NamedTuple):
    """Successes and episodes of one task."""

    successes: int
    trials: int


def pooled(tasks: Sequence[TaskCounts], confidence: float = CONFIDENCE) -> Interval:
    """Wilson's interval over all episodes together."""
    return wilson(sum(task.successes for task in tasks), sum(task.trials for task in tasks), confidence)


def stratified(tasks: Sequence[TaskCounts], confidence: float = CONFIDENCE) -> Interval:
    """For the mean of these tasks' rates: Wilson's interval, with the number of episodes that has the same variance.

    A task that always had the same outcome may still vary: for the variance, every task gets half a success and half a
    failure more.
    """
    successes, trials = _arrays(tasks)
    if not len(trials):
        return Interval(0.0, 1.0, confidence)
    rate = float(np.mean(successes / trials))
    smoothed = (successes + 0.5) / (trials + 1)
    # Estimated from n outcomes plus one, a variance is too small by n / (n + 1).
    variance = float(np.sum(smoothed * (1 - smoothed) * (trials + 1) / trials**2)) / len(trials) ** 2
    least = len(trials) ** 2 / float(np.sum(1 / trials))
    return score_interval(rate, max(least, rate * (1 - rate) / variance), quantile(confidence), confidence)


def clustered(tasks: Sequence[TaskCounts], confidence: float = CONFIDENCE) -> Interval:
    """For the rate on tasks like these: Wilson's interval, with a number of episodes that matches the spread of tasks.

    That number is at least one per task, and at most the actual one. A few tasks estimate their spread poorly:
    Student's distribution accounts for that. They may also include no task that is never or always solved: a small
    weight of each kind, added to the spread, accounts for that.
    """
    check_confidence(confidence)
    successes, trials = _arrays(tasks)
    count = len(trials)
    if count < 2:
        return Interval(0.0, 1.0, confidence)  # one task says nothing about others
    rates = successes / trials
    centre = (rates.sum() + EXTREME_WEIGHT) / (count + 2 * EXTREME_WEIGHT)
    extremes = EXTREME_WEIGHT * (centre**2 + (1 - centre) ** 2)
    spread = float(np.sum((rates - centre) ** 2) + extremes) / (count + 2 * EXTREME_WEIGHT - 1)
    worth = centre * (1 - centre) / (spread / count)
    rate = float(rates.mean())
    deviations = float(scipy.stats.t.ppf(0.5 + confidence / 2, count - 1))
    return score_interval(rate, float(np.clip(worth, count, trials.sum())), deviations, confidence)


def _arrays(tasks: Sequence[TaskCounts]) -> tuple[np.ndarray, np.ndarray]:
    known = np.array([task for task in tasks if task[1]], float).reshape(-1, 2)
    return known[:, 0], known[:, 1]
