"""Compares two policies on the same episodes: only the pairs with different outcomes count."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import scipy  # its modules are imported on first use, because that takes half a second

from yardarm.stats.intervals import CONFIDENCE, Interval, quantile

__all__ = ["PairedCounts", "bonett_price", "mcnemar"]


@dataclass(frozen=True, slots=True)
class PairedCounts:
    """How many pairs were solved by both policies, by only one, and by neither."""

    both: int = 0
    only_a: int = 0
    only_b: int = 0
    neither: int = 0

    @classmethod
    def of(cls, pairs: Iterable[tuple[bool, bool]]) -> PairedCounts:
        """Count pairs of outcomes."""
        counts = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
        for a, b in pairs:
            counts[bool(a), bool(b)] += 1
        return cls(*counts.values())

    @property
    def pairs(self) -> int:
        """The number of pairs."""
        return self.both + self.only_a + self.only_b + self.neither

    @property
    def discordant(self) -> int:
        """The number of pairs with different outcomes."""
        return self.only_a + self.only_b

    @property
    def difference(self) -> float:
        """The rate of A minus the rate of B; nan without pairs."""
        return (self.only_a - self.only_b) / self.pairs if self.pairs else math.nan

    @property
    def correlation(self) -> float | None:
        """The correlation of the two outcomes; None if one of them never varies."""
        a, b, n = self.both + self.only_a, self.both + self.only_b, self.pairs
        spread = math.sqrt(a * (n - a) * b * (n - b))
        return (n * self.both - a * b) / spread if spread else None


def mcnemar(counts: PairedCounts) -> float:
    """The exact two-sided p-value of "neither is better": a fair coin for each discordant pair."""
    fewer, discordant = min(counts.only_a, counts.only_b), counts.discordant
    # The same as binom.cdf, but 500 times faster: comparing fifty runs takes twelve thousand tests.
    return min(1.0, 2 * float(scipy.special.bdtr(fewer, discordant, 0.5))) if discordant else 1.0


def bonett_price(counts: PairedCounts, confidence: float = CONFIDENCE) -> Interval:
    """An interval for the difference of two paired rates: Wald's, with one more discordant pair of each kind."""
    total = counts.pairs + 2
    only_a, only_b = (counts.only_a + 1) / total, (counts.only_b + 1) / total
    centre = only_a - only_b
    half = quantile(confidence) * math.sqrt((only_a + only_b - centre * centre) / total)
    return Interval(max(-1.0, centre - half), min(1.0, centre + half), confidence)
