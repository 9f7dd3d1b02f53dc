"""Windows of time around a frame: which frames they show, and where they reach beyond the episode."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from yardarm.errors import UsageError, nearest

__all__ = ["Windows"]

Index = int | np.ndarray


@dataclass(frozen=True, slots=True)
class Windows:
    """For some features, steps from the current frame; the other features have the current frame only."""

    steps: Mapping[str, np.ndarray]

    @classmethod
    def of(
        cls,
        delta_timestamps: Mapping[str, Sequence[float]] | None,
        fps: int,
        tolerance_s: float,
        known: Collection[str],
    ) -> Windows:
        """From seconds before (negative) and after the current frame, which must be whole steps."""
        steps = {}
        for name, seconds in (delta_timestamps or {}).items():
            if name not in known:
                raise UsageError(
                    f"delta_timestamps has '{name}', which the dataset has not{nearest(name, known)} "
                    f"it has {', '.join(sorted(known))}"
                )
            if not len(seconds):
                raise UsageError(f"delta_timestamps of '{name}' is empty; leave it out, or give [0.0]")
            exact = np.asarray(seconds, float) * fps
            off = ~(np.abs(exact - exact.round()) / fps <= tolerance_s)  # what is no number is none, too
            if off.any():
                listed = ", ".join(f"{second:g}" for second in np.asarray(seconds)[off][:5])
                raise UsageError(f"delta_timestamps of '{name}' must be multiples of 1/{fps} s; {listed} is none")
            steps[name] = exact.round().astype(np.int64)
        return cls(steps)

    def around(self, name: str, row: Index, start: Index, stop: Index) -> tuple[np.ndarray, np.ndarray]:
        """The rows that a window shows, and which of them only stand in for frames beyond the episode's ends.

        Of many rows at once, if they are columns.
        """
        rows = row + self.steps[name]
        return rows.clip(start, stop - 1), (rows < start) | (rows >= stop)
