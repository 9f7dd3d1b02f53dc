"""Power analysis: how many episodes detect a difference, and which difference a number of episodes detects."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy  # its modules are imported on first use, because that takes half a second

__all__ = ["Design", "largest_correlation"]

MOST_EPISODES = 1_000_000
# The power of an exact test fluctuates a little from one number of episodes to the next.
STEADY = 12
FARTHEST_DEVIATIONS = 8
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Design:
    """A planned comparison: the rates of two policies, and the power and level of the test.

    `correlation` is that of the two policies' outcomes on the same episode; None means different episodes.
    """

    baseline: float
    gap: float
    """The rate of the other policy minus the baseline."""
    correlation: float | None = None
    power: float = 0.8
    alpha: float = 0.05

    def __post_init__(self) -> None:
        if not 0 <= self.baseline <= 1 or not -1 <= self.gap <= 1:
            raise ValueError(
                f"rates must be between 0 and 1, got a baseline of {self.baseline} and a gap of {self.gap}"
            )
        if not 0 < self.power < 1 or not 0 < self.alpha < 1:
            raise ValueError(f"power and alpha must be between 0 and 1, got {self.power} and {self.alpha}")

    def power_with(self, episodes: int) -> float:
        """The chance that this many episodes of each policy detect the difference."""
        if not -ROUNDING <= self.baseline + self.gap <= 1 + ROUNDING:
            raise ValueError(f"a rate of {self.baseline + self.gap:g} is impossible")
        if self.correlation is not None and self.correlation > largest_correlation(self.baseline, self.gap) + ROUNDING:
            raise ValueError(f"policies that differ by {self.gap:g} cannot have a correlation of {self.correlation:g}")
        return self._paired_power(episodes) if self.correlation is not None else self._unpaired_power(episodes)

    def episodes(self) -> int | None:
        """The fewest episodes of each policy that reach the power; None if a million do not."""
        return _least(lambda episodes: self.power_with(episodes) >= self.power)

    def smallest_gap(self, episodes: int) -> float | None:
        """The smallest gap in this direction that this many episodes can detect; None if there is none.

        Outcomes of policies that differ a lot cannot correlate strongly, so a smaller correlation may be used.
        """
        sign = math.copysign(1.0, self.gap)
        room = 1 - self.baseline if sign > 0 else self.baseline
        gaps = np.arange(1, math.floor(room * 1000 + ROUNDING) + 1) / 1000
        found, beyond = 0, len(gaps)
        while found < beyond:
            middle = (found + beyond) // 2
            if self._with_gap(sign * gaps[middle]).power_with(episodes) >= self.power:
                beyond = middle
            else:
                found = middle + 1
        return float(gaps[found]) if found < len(gaps) else None

    @property
    def _other(self) -> float:
        """The rate of the other policy."""
        return min(1.0, max(0.0, self.baseline + self.gap))

    def _with_gap(self, gap: float) -> Design:
        if self.correlation is None:
            return replace(self, gap=gap)
        return replace(self, gap=gap, correlation=min(self.correlation, largest_correlation(self.baseline, gap)))

    def _paired_power(self, episodes: int) -> float:
        """The exact power of McNemar's test, over all plausible numbers of discordant pairs."""
        other, correlation = self._other, self.correlation or 0.0
        spread = math.sqrt(max(0.0, other * (1 - other) * self.baseline * (1 - self.baseline)))
        both = other * self.baseline + correlation * spread
        only_other, only_baseline = max(0.0, other - both), max(0.0, self.baseline - both)
        discordant = min(1.0, only_other + only_baseline)
        if discordant <= 0:
            return 0.0
        mean, deviation = episodes * discordant, math.sqrt(episodes * discordant * (1 - discordant))
        first = max(0, math.floor(mean - FARTHEST_DEVIATIONS * deviation))
        last = min(episodes, math.ceil(mean + FARTHEST_DEVIATIONS * deviation))
        counts = np.arange(first, last + 1)
        fewest = scipy.stats.binom.ppf(self.alpha / 2, counts, 0.5)
        fewest = np.where(scipy.stats.binom.cdf(fewest, counts, 0.5) <= self.alpha / 2, fewest, fewest - 1)
        wins = only_other / discordant
        found = scipy.stats.binom.cdf(fewest, counts, wins) + scipy.stats.binom.sf(counts - fewest - 1, counts, wins)
        return float(np.sum(scipy.stats.binom.pmf(counts, episodes, discordant) * np.where(fewest >= 0, found, 0.0)))

    def _unpaired_power(self, episodes: int) -> float:
        """The power of the score test (normal approximation), which is close to that of Boschloo's exact test."""
        other = self._other
        middle = (other + self.baseline) / 2
        even = math.sqrt(2 * middle * (1 - middle))
        apart = math.sqrt(other * (1 - other) + self.baseline * (1 - self.baseline))
        shortfall = float(scipy.special.ndtri(1 - self.alpha / 2)) * even - abs(self.gap) * math.sqrt(episodes)
        if apart == 0:
            return float(shortfall <= 0)
        return float(scipy.special.ndtr(-shortfall / apart))


def largest_correlation(baseline: float, gap: float) -> float:
    """The largest correlation that these rates allow: one policy solves everything the other does, and more."""
    low, high = sorted((baseline, baseline + gap))
    if low <= 0 or high >= 1:
        return 0.0
    return math.sqrt(low * (1 - high) / (high * (1 - low)))


def _least(enough: Callable[[int], bool]) -> int | None:
    """The smallest number that is enough, together with the numbers right after it."""
    high = 1
    while not enough(high):
        high *= 2
        if high > MOST_EPISODES:
            return None
    low = high // 2
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    while not all(enough(high + more) for more in range(STEADY)):
        high += 1
    return high
