"""Compares two policies on different episodes, which takes more episodes than comparing them on the same ones."""

from __future__ import annotations

import math

import numpy as np
import scipy  # its modules are imported on first use, because that takes half a second

from yardarm.stats.intervals import CONFIDENCE, Interval, check_counts, wilson
from yardarm.stats.over_tasks import TaskCounts

__all__ = ["boschloo", "newcombe"]

GRID = 400
# Fisher's p-values of equal tables may differ in the last bits.
TIES = 1 + 1e-9


def newcombe(a: TaskCounts, b: TaskCounts, confidence: float = CONFIDENCE) -> Interval:
    """An interval for the difference of two independent rates, combined from the Wilson interval of each."""
    if not a.trials or not b.trials:
        return Interval(-1.0, 1.0, confidence)
    rate_a, rate_b = a.successes / a.trials, b.successes / b.trials
    own_a, own_b = wilson(*a, confidence), wilson(*b, confidence)
    below = math.hypot(rate_a - own_a.low, own_b.high - rate_b)
    above = math.hypot(own_a.high - rate_a, rate_b - own_b.low)
    return Interval(max(-1.0, rate_a - rate_b - below), min(1.0, rate_a - rate_b + above), confidence)


def boschloo(a: TaskCounts, b: TaskCounts) -> float:
    """The exact two-sided p-value of "both have the same rate", whatever that rate is.

    It is twice the one-sided value: the chance of a table that Fisher's test finds at least as extreme as this one, at
    the common rate that makes this chance largest.
    """
    for counts in (a, b):
        check_counts(*counts)
    if not a.trials or not b.trials:
        return 1.0
    difference = a.successes * b.trials - b.successes * a.trials
    if difference == 0:
        return 1.0
    return min(1.0, 2 * (_one_sided(a, b) if difference < 0 else _one_sided(b, a)))


def _one_sided(a: TaskCounts, b: TaskCounts) -> float:
    """The one-sided p-value of A having the lower rate."""
    observed = _fisher_less(np.array(a.successes), np.array(b.successes), a.trials, b.trials) * TIES
    of_a = np.arange(a.trials + 1)
    least_of_b = _least_of_b(of_a, a.trials, b.trials, float(observed))

    def chances(rates: np.ndarray) -> np.ndarray:
        of_b = scipy.stats.binom.sf(least_of_b - 1, b.trials, rates[:, None])
        return np.sum(scipy.stats.binom.pmf(of_a, a.trials, rates[:, None]) * of_b, axis=1)

    rates = (np.arange(GRID) + 0.5) / GRID
    on_grid = chances(rates)
    best = float(rates[int(np.argmax(on_grid))])
    near = scipy.optimize.minimize_scalar(
        lambda rate: -float(chances(np.array([rate]))[0]), bounds=(max(0.0, best - 1 / GRID), min(1.0, best + 1 / GRID))
    )
    return max(float(on_grid.max()), -float(near.fun))


def _least_of_b(of_a: np.ndarray, trials_a: int, trials_b: int, observed: float) -> np.ndarray:
    """For each number of A's successes, the fewest of B's that make the table as extreme, by bisection."""
    low, high = np.zeros(len(of_a), int), np.full(len(of_a), trials_b + 1)
    while np.any(low < high):
        middle = (low + high) // 2
        extreme = _fisher_less(of_a, np.minimum(middle, trials_b), trials_a, trials_b) <= observed
        # Beyond the last table, everything counts as extreme.
        extreme |= middle > trials_b
        high = np.where(extreme, middle, high)
        low = np.where(extreme, low, np.minimum(middle + 1, high))
    return low


def _fisher_less(of_a: np.ndarray, of_b: np.ndarray, trials_a: int, trials_b: int) -> np.ndarray:
    return scipy.stats.hypergeom.cdf(of_a, trials_a + trials_b, of_a + of_b, trials_a)
