"""Intervals for a success rate."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import ndtri

__all__ = ["Interval", "wilson"]


@dataclass(frozen=True, slots=True)
class Interval:
    """The ends of a confidence interval, and its confidence."""

    low: float
    high: float
    confidence: float = 0.95


def wilson(successes: int, trials: int, confidence: float = 0.95) -> Interval:
    """Wilson's score interval for a rate; without trials nothing is known, and it is [0, 1]."""
    if not 0 <= successes <= trials:
        raise ValueError(f"successes must lie between 0 and {trials}, got {successes}")
    if trials == 0:
        return Interval(0.0, 1.0, confidence)
    z = float(ndtri(0.5 + confidence / 2))
    rate = successes / trials
    scale = 1 + z * z / trials
    centre = (rate + z * z / (2 * trials)) / scale
    half = z * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials)) / scale
    # Exact at the ends, where rounding would leave 1e-17.
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == trials else centre + half
    return Interval(low, high, confidence)
