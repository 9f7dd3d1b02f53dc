"""Windows of time around a frame: which frames they contain, and where they reach beyond the episode."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from yardarm.errors import UsageError, nearest

__all__ = ["Windows"]

Index = int | np.ndarray


@dataclass(frozen=True, slots=True)
class Windows:
    """For some features, steps relative to the current frame; other features have only the current frame."""

    steps: Mapping[str, np.ndarray]

    @classmethod
    def of(
        cls,
        delta_timestamps: Mapping[str, Sequence[float]] | None,
        fps: int,
        tolerance_s: float,
        known: Collection[str],
    ) -> Windows:
        """Make windows from seconds before (negative) and after the current frame, which must be whole steps."""
        steps = {}
        for name, seconds in (delta_timestamps or {}).items():
            if name not in known:
                raise UsageError(
                    f"delta_timestamps has '{name}', which is not in the dataset{nearest(name, known)} "
                    f"it has {', '.join(sorted(known))}"
                )
            if not len(seconds):
                raise UsageError(f"delta_timestamps of '{name}' is empty; omit it, or give [0.0]")
            exact = np.asarray(seconds, float) * fps
            off = ~(np.abs(exact - exact.round()) / fps <= tolerance_s)  # also true for NaN
            if off.any():
                listed = ", ".join(f"{second:g}" for second in np.asarray(seconds)[off][:5])
                raise UsageError(f"delta_timestamps of '{name}' must be multiples of 1/{fps} s, got {listed}")
            steps[name] = exact.round().astype(np.int64)
        return cls(steps)

    def around(self, name: str, row: Index, start: Index, stop: Index) -> tuple[np.ndarray, np.ndarray]:
        """The rows of a window, and which of them are padding for frames beyond the episode.

        Also for many rows at once, given as columns.
        """
        rows = row + self.steps[name]
        return rows.clip(start, stop - 1), (rows < start) | (rows >= stop)
