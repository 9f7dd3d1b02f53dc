"""Exact chances, by summing over all that can happen, and outcomes to draw where that would be too many."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.special import gammaln, xlogy
from scipy.stats import binom

from yardarm.stats import Interval, TaskCounts


def coverage_of_one_rate(method: Callable[[int, int], Interval], trials: int, rates: np.ndarray) -> np.ndarray:
    """How often the interval of a binomial count holds the rate, for each rate."""
    intervals = [method(successes, trials) for successes in range(trials + 1)]
    return coverage_of_sum(intervals, rates, [binom.pmf(np.arange(trials + 1), trials, rate) for rate in rates])


def coverage_of_sum(
    intervals: Sequence[Interval], truths: Sequence[float] | np.ndarray, chances: Sequence[np.ndarray]
) -> np.ndarray:
    """The same for any chances of the sums that the intervals belong to."""
    low, high = np.array([each.low for each in intervals]), np.array([each.high for each in intervals])
    # A rate is held by an interval that ends at it, also where rounding says otherwise.
    return np.array(
        [
            float(np.sum(chance[(low <= truth + 1e-12) & (truth - 1e-12 <= high)]))
            for truth, chance in zip(truths, chances, strict=True)
        ]
    )


def chances_of_sum(rates: np.ndarray, trials: int) -> np.ndarray:
    """The chances of each number of successes over tasks of these rates, with so many trials of each."""
    chances = np.ones(1)
    for rate in rates:
        chances = np.convolve(chances, binom.pmf(np.arange(trials + 1), trials, rate))
    return chances


def chances_of_pairs(pairs: int, only_a: float, only_b: float) -> np.ndarray:
    """The chances of each number of pairs that only A solved (rows), and only B (columns)."""
    a, b = np.meshgrid(np.arange(pairs + 1), np.arange(pairs + 1), indexing="ij")
    same = np.maximum(pairs - a - b, 0)
    logs = gammaln(pairs + 1) - gammaln(a + 1) - gammaln(b + 1) - gammaln(same + 1)
    logs += xlogy(a, only_a) + xlogy(b, only_b) + xlogy(same, max(0.0, 1 - only_a - only_b))
    return np.where(a + b <= pairs, np.exp(logs), 0.0)


def discordance(rate_a: float, rate_b: float, correlation: float) -> tuple[float, float]:
    """The chances that only A solves a pair, and that only B does."""
    both = rate_a * rate_b + correlation * np.sqrt(rate_a * (1 - rate_a) * rate_b * (1 - rate_b))
    return rate_a - both, rate_b - both


def task_rates(shape: str, tasks: int, rng: np.random.Generator) -> np.ndarray:
    """Difficulties of tasks, as they are found in benchmarks."""
    if shape == "equal":
        return np.full(tasks, 0.7)
    if shape == "spread":
        return rng.uniform(0.1, 0.9, tasks)
    if shape == "bimodal":
        return rng.choice([0.05, 0.95], tasks)
    if shape == "beta":
        return rng.beta(2.0, 1.0, tasks)
    if shape == "u-shaped":
        return rng.beta(0.3, 0.3, tasks)
    assert shape == "mostly hopeless"
    return rng.beta(0.3, 2.7, tasks)


MEAN_RATE = {"equal": 0.7, "spread": 0.5, "bimodal": 0.5, "beta": 2 / 3, "u-shaped": 0.5, "mostly hopeless": 0.1}


def drawn_tasks(rates: np.ndarray, trials: int, rng: np.random.Generator) -> list[TaskCounts]:
    """Outcomes of tasks of these rates."""
    return [TaskCounts(int(successes), trials) for successes in rng.binomial(trials, rates)]
