"""How values are spread, in constant memory: for loops that run for hours."""

from __future__ import annotations

import math

__all__ = ["Histogram"]

# From a microsecond to over two hours, in steps of 4%: a quantile is no farther off than that.
SMALLEST = 1e-6
PER_DOUBLING = 16
DOUBLINGS = 33


class Histogram:
    """Durations in seconds. Count, total and largest are exact; quantiles are within 4%."""

    __slots__ = ("_counts", "count", "largest", "total")

    def __init__(self) -> None:
        self.count, self.total, self.largest = 0, 0.0, 0.0
        # A list of fixed length: another thread can read it while it is added to.
        self._counts = [0] * (PER_DOUBLING * DOUBLINGS)

    def add(self, value: float) -> None:
        """Count a duration; a negative one counts as none at all."""
        value = max(value, 0.0)
        place = int(math.log2(value / SMALLEST) * PER_DOUBLING) + 1 if value > SMALLEST else 0
        self._counts[min(place, len(self._counts) - 1)] += 1
        self.count += 1
        self.total += value
        self.largest = max(self.largest, value)

    @property
    def mean(self) -> float:
        """The average; 0 if there is nothing."""
        return self.total / self.count if self.count else 0.0

    def quantile(self, share: float) -> float:
        """The duration that this share of them does not exceed; 0 if there is nothing."""
        wanted, seen = share * self.count, 0
        for place, count in enumerate(self._counts):
            seen += count
            if count and seen >= wanted:
                return min(SMALLEST * 2 ** (place / PER_DOUBLING), self.largest)
        return self.largest
