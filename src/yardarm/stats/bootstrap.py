"""Bootstrap intervals for means of any values."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from yardarm.stats.intervals import CONFIDENCE, Interval, check_confidence

__all__ = ["bootstrap_mean"]

REPETITIONS = 2000
# Sums of more values than this are close to normal, and need not be drawn one by one.
MANY = 500


def bootstrap_mean(groups: Sequence[Sequence[float]], confidence: float = CONFIDENCE, seed: int = 0) -> Interval | None:
    """An interval for the mean over all groups' values, resampled within each group; None if no group has two values.

    The groups are tasks, which are fixed while their episodes vary. The same values give the same interval.
    """
    check_confidence(confidence)
    groups = [values for values in groups if len(values)]
    count = sum(len(values) for values in groups)
    if all(len(values) < 2 for values in groups):
        return None
    rng = np.random.default_rng(seed)
    sums, least, most = np.zeros(REPETITIONS), 0.0, 0.0
    mean = sum(float(np.sum(values)) for values in groups) / count
    for values in groups:
        own = np.asarray(values, float)
        # A bootstrap's variance is too small by (n - 1) / n, which matters in small groups.
        widening = math.sqrt(len(own) / max(1, len(own) - 1))
        sums += own.sum() + widening * (_drawn_sums(own, rng) - own.sum())
        least, most = least + len(own) * float(own.min()), most + len(own) * float(own.max())
    # Keep means in the range. Clipping each group would undo the widening: two values reach theirs half of the time.
    sums = np.clip(sums, least, most)
    tail = (1 - confidence) / 2
    low, high = np.quantile(sums / count, [tail, 1 - tail])
    return Interval(min(float(low), mean), max(float(high), mean), confidence)


def _drawn_sums(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Sums of bootstrap samples: as many values as there are, drawn with replacement."""
    if len(values) > MANY:
        return rng.normal(values.sum(), math.sqrt(len(values) * values.var()), REPETITIONS)
    return rng.choice(values, (REPETITIONS, len(values))).sum(axis=1)
