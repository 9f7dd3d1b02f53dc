"""Intervals for the success rate over several tasks. Which one is right depends on what "several tasks" stands for.

* `pooled`: these tasks, all episodes in one pot. The default: simple, and too wide rather than too narrow.
* `stratified`: these tasks, and no others. Tasks of different difficulty leave less to chance than the pot
  suggests, so this one is narrower where tasks differ.
* `clustered`: new tasks like these. What counts then is the number of tasks, and how much they differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy  # its modules are imported when they are first used: that takes half a second

from yardarm.stats.intervals import CONFIDENCE, Interval, check_confidence, quantile, score_interval, wilson

__all__ = ["TaskCounts", "clustered", "pooled", "stratified"]


# How much of a task that is never solved, and of one that always is, is added to the spread between tasks.
BIT = 0.1


class TaskCounts(NamedTuple):
    """Successes of so many episodes of one task."""

    successes: int
    trials: int


def pooled(tasks: Sequence[TaskCounts], confidence: float = CONFIDENCE) -> Interval:
    """Wilson's interval of all episodes together."""
    return wilson(sum(task.successes for task in tasks), sum(task.trials for task in tasks), confidence)


def stratified(tasks: Sequence[TaskCounts], confidence: float = CONFIDENCE) -> Interval:
    """For the mean of these tasks' rates: Wilson's, with as many episodes as would leave as much to chance.

    A task that always went the same way does not prove that it always will: for the variance, every task gets half
    a success and half a failure more.
    """
    successes, trials = _arrays(tasks)
    if not len(trials):
        return Interval(0.0, 1.0, confidence)
    rate = float(np.mean(successes / trials))
    smoothed = (successes + 0.5) / (trials + 1)
    # Estimated from n outcomes and as many doubts, a variance comes out too small by n/(n + 1).
    variance = float(np.sum(smoothed * (1 - smoothed) * (trials + 1) / trials**2)) / len(trials) ** 2
    least = len(trials) ** 2 / float(np.sum(1 / trials))
    return score_interval(rate, max(least, rate * (1 - rate) / variance), quantile(confidence), confidence)


def clustered(tasks: Sequence[TaskCounts], confidence: float = CONFIDENCE) -> Interval:
    """For the rate on tasks like these: Wilson's, with as many episodes as the spread between tasks is worth.

    That is at least one for each task, and no more than there were. Few tasks tell little of their spread, which
    Student's distribution allows for; and none of those that are never or always solved may be among them, which a bit
    of each kind, added to the spread, allows for.
    """
    check_confidence(confidence)
    successes, trials = _arrays(tasks)
    count = len(trials)
    if count < 2:
        return Interval(0.0, 1.0, confidence)  # one task says nothing of others
    rates = successes / trials
    centre = (rates.sum() + BIT) / (count + 2 * BIT)
    extremes = BIT * (centre**2 + (1 - centre) ** 2)
    spread = float(np.sum((rates - centre) ** 2) + extremes) / (count + 2 * BIT - 1)
    worth = centre * (1 - centre) / (spread / count)
    rate = float(rates.mean())
    deviations = float(scipy.stats.t.ppf(0.5 + confidence / 2, count - 1))
    return score_interval(rate, float(np.clip(worth, count, trials.sum())), deviations, confidence)


def _arrays(tasks: Sequence[TaskCounts]) -> tuple[np.ndarray, np.ndarray]:
    known = np.array([task for task in tasks if task[1]], float).reshape(-1, 2)
    return known[:, 0], known[:, 1]
