"""An interval that stays right however often one looks at it, and whenever one stops.

A gambler doubts that the mean is m, and bets on it: before each value a share of the fortune is put on "above m". If m
is right, no strategy is expected to win, and a fortune of 1 ever grows to c with a chance of at most 1/c. So every m
against which somebody has become rich can be given up for good. Here many gamblers share the fortune, each of whom
always bets the same share; and as many bet on "below".
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import scipy  # its modules are imported when they are first used: that takes half a second

from yardarm.stats.intervals import CONFIDENCE, Interval, check_confidence

__all__ = ["confidence_sequence", "difference_sequence"]

# Small shares win against means that are nearly right, after many values; large ones against wrong means, at once.
SHARES = (np.arange(100) + 0.5) / 100


def confidence_sequence(counts: Mapping[float, int], confidence: float = CONFIDENCE) -> Interval:
    """For the mean of values between 0 and 1, each of which came so many times. Without any it is [0, 1]."""
    check_confidence(confidence)
    if min(counts.values(), default=0) < 0:
        raise ValueError(f"nothing can come a negative number of times, got {dict(counts)}")
    if not all(0 <= value <= 1 for value in counts):
        raise ValueError(f"values must lie between 0 and 1, got {sorted(counts)}")
    values, times = np.array(list(counts), float), np.array(list(counts.values()), float)
    return Interval(_low(values, times, confidence), 1 - _low(1 - values, times, confidence), confidence)


def difference_sequence(only_a: int, only_b: int, pairs: int, confidence: float = CONFIDENCE) -> Interval:
    """The same for the difference of two rates, from pairs of which some went differently."""
    halves = confidence_sequence({0.0: only_b, 0.5: pairs - only_a - only_b, 1.0: only_a}, confidence)
    return Interval(2 * halves.low - 1, 2 * halves.high - 1, confidence)


def _low(values: np.ndarray, times: np.ndarray, confidence: float) -> float:
    """The smallest mean that nobody has become rich against, of those who bet on "above"."""
    count = times.sum()
    mean = float(values @ times / count) if count else 0.0
    if mean == 0:
        return 0.0
    rich = np.log(2 / (1 - confidence))  # half of the error is for each side

    def excess(wrong: float) -> float:
        growth = np.log(1 - SHARES[:, None] + SHARES[:, None] * values / wrong) @ times
        return float(np.logaddexp.reduce(growth) - np.log(len(SHARES)) - rich)

    # Against the mean that was seen nobody wins; against almost nothing everybody does.
    return float(scipy.optimize.brentq(excess, 1e-12, mean, xtol=1e-9)) if excess(1e-12) > 0 else 0.0
