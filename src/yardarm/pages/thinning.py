"""Reduces long curves to the number of points that a page can show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from yardarm.pages.run_data import rounded

__all__ = ["thinned"]

# A plot is about 1,100 pixels wide.
MOST_POINTS = 1000


def thinned(steps: Sequence[int], columns: Mapping[str, Sequence[float | None]]) -> dict[str, Any]:
    """Means over equal numbers of points, each at its last step, with minimum and maximum.

    If all points fit, they are kept as they are. Missing values are ignored.
    """
    every = max(1, -(-len(steps) // MOST_POINTS))
    lasts = [steps[min(start + every, len(steps)) - 1] for start in range(0, len(steps), every)]
    shown = {name: _thinned(np.array(values, np.float64), every) for name, values in columns.items()}
    return {"every": every, "steps": lasts, "columns": shown}


def _thinned(values: np.ndarray, every: int) -> dict[str, list[float | None]]:
    if not len(values):
        return {"values": []}
    starts = np.arange(0, len(values), every)
    known = np.isfinite(values)
    counts = np.add.reduceat(known.astype(np.float64), starts)
    sums = np.add.reduceat(np.where(known, values, 0.0), starts)
    means = np.divide(sums, counts, out=np.full(len(starts), np.nan), where=counts > 0)
    shown = {"values": means}
    if every > 1:
        shown["low"] = np.minimum.reduceat(np.where(known, values, np.inf), starts)
        shown["high"] = np.maximum.reduceat(np.where(known, values, -np.inf), starts)
    return {name: [rounded(value) for value in own] for name, own in shown.items()}
