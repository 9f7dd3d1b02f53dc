"""Statistics, on numpy and scipy only."""

from yardarm.stats.intervals import Interval, wilson

__all__ = ["Interval", "wilson"]
