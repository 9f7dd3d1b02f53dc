"""Confidence intervals for one success rate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import scipy  # its modules are imported on first use, because that takes half a second

__all__ = [
    "CONFIDENCE",
    "Interval",
    "check_confidence",
    "check_counts",
    "clopper_pearson",
    "level",
    "quantile",
    "score_interval",
    "wilson",
]

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """The ends of a confidence interval, and its confidence."""

    low: float
    high: float
    confidence: float = CONFIDENCE

    @property
    def half_width(self) -> float:
        """Half the distance between the ends."""
        return (self.high - self.low) / 2

    def __repr__(self) -> str:
        return f"Interval({self.low:.3f} to {self.high:.3f}, {100 * self.confidence:.4g}%)"

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def wilson(successes: int, trials: int, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's score interval for a rate; [0, 1] without trials."""
    check_counts(successes, trials)
    if trials == 0:
        return Interval(0.0, 1.0, confidence)
    return score_interval(successes / trials, trials, quantile(confidence), confidence)


def clopper_pearson(successes: int, trials: int, confidence: float = CONFIDENCE) -> Interval:
    """The exact interval: it covers at least as often as it claims, usually more often, and is therefore wider."""
    check_counts(successes, trials)
    check_confidence(confidence)
    tail = (1 - confidence) / 2
    failures = trials - successes
    low = float(scipy.special.betaincinv(successes, failures + 1, tail)) if successes else 0.0
    high = float(scipy.special.betaincinv(successes + 1, failures, 1 - tail)) if failures else 1.0
    return Interval(low, high, confidence)


def score_interval(rate: float, trials: float, deviations: float, confidence: float) -> Interval:
    """Wilson's interval around a rate, for an effective number of trials, which need not be whole."""
    square = deviations * deviations
    scale = 1 + square / trials
    centre = (rate + square / (2 * trials)) / scale
    half = deviations * math.sqrt(rate * (1 - rate) / trials + square / (4 * trials * trials)) / scale
    # Exact at the ends, where rounding would leave 1e-17.
    low = 0.0 if rate == 0 else centre - half
    high = 1.0 if rate == 1 else centre + half
    return Interval(low, high, confidence)


def quantile(confidence: float) -> float:
    """How many standard deviations around the mean contain this share of a normal distribution."""
    check_confidence(confidence)
    return float(scipy.special.ndtri(0.5 + confidence / 2))


def level(confidence: float) -> float:
    """The significance level of a confidence: 0.05, not 0.050000000000000044."""
    return round(1 - confidence, 12)


def check_confidence(confidence: float) -> None:
    """Raise a ValueError unless it is between 0 and 1: 95 would give nan or nonsense."""
    if not 0 < confidence < 1:
        raise ValueError(f"the confidence must be between 0 and 1, got {confidence}")


def check_counts(successes: int, trials: int) -> None:
    """Raise a ValueError unless there are 0 to `trials` successes."""
    if not 0 <= successes <= trials:
        raise ValueError(f"successes must be between 0 and {trials}, got {successes}")
