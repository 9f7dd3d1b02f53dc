"""Confidence sequences: intervals that stay valid however often you look at them, and whenever you stop.

A gambler doubts that the mean is m and bets against it: before each value, a share of the fortune goes on "above m". If
m is right, no strategy is expected to win, and a fortune of 1 ever grows to c with a chance of at most 1/c. So every m
against which a gambler has become rich can be rejected for good. Here the fortune is split among many gamblers, each
with a fixed share; as many more bet on "below m".
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import scipy  # its modules are imported on first use, because that takes half a second

from yardarm.stats.intervals import CONFIDENCE, Interval, check_confidence

__all__ = ["confidence_sequence", "difference_sequence"]

# Small shares win against nearly right means after many values; large ones win against wrong means at once.
SHARES = (np.arange(100) + 0.5) / 100


def confidence_sequence(counts: Mapping[float, int], confidence: float = CONFIDENCE) -> Interval:
    """The interval for the mean of values in [0, 1], given how often each value occurred; [0, 1] without values."""
    check_confidence(confidence)
    if min(counts.values(), default=0) < 0:
        raise ValueError(f"counts must not be negative, got {dict(counts)}")
    if not all(0 <= value <= 1 for value in counts):
        raise ValueError(f"values must be between 0 and 1, got {sorted(counts)}")
    values, times = np.array(list(counts), float), np.array(list(counts.values()), float)
    return Interval(_low(values, times, confidence), 1 - _low(1 - values, times, confidence), confidence)


def difference_sequence(only_a: int, only_b: int, pairs: int, confidence: float = CONFIDENCE) -> Interval:
    """The interval for the difference of two rates, from pairs of outcomes."""
    halves = confidence_sequence({0.0: only_b, 0.5: pairs - only_a - only_b, 1.0: only_a}, confidence)
    return Interval(2 * halves.low - 1, 2 * halves.high - 1, confidence)


def _low(values: np.ndarray, times: np.ndarray, confidence: float) -> float:
    """The smallest mean that the gamblers who bet on "above" have not become rich against."""
    count = times.sum()
    mean = float(values @ times / count) if count else 0.0
    if mean == 0:
        return 0.0
    rich = np.log(2 / (1 - confidence))  # each side gets half of the error

    def excess(wrong: float) -> float:
        growth = np.log(1 - SHARES[:, None] + SHARES[:, None] * values / wrong) @ times
        return float(np.logaddexp.reduce(growth) - np.log(len(SHARES)) - rich)

    # No gambler wins against the observed mean; all win against a mean near 0.
    return float(scipy.optimize.brentq(excess, 1e-12, mean, xtol=1e-9)) if excess(1e-12) > 0 else 0.0
