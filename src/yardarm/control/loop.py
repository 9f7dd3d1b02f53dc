"""Turns at a rate, by absolute deadlines.

    turn      0         1         2                   4         5
    due    ───┼─────────┼─────────┼─────────┼─────────┼─────────┼───▶ time
    work      ▓▓▓▓      ▓▓▓▓      ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓   ▓▓▓▓      ▓▓▓▓
                                            3 is missed: its time was over before 2 ended

Each deadline is computed from the first one, so that no error adds up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from yardarm.control.timing import Timing
from yardarm.errors import UsageError
from yardarm.robots import Clock, HostClock

__all__ = ["Beat", "Loop"]

# Deadlines are sums of floating-point numbers; an end that is this close to one is that one.
ROUNDING = 1e-6
# A loop that cannot keep up sleeps for this share of the time that it is behind, up to some milliseconds: at real-time
# priority, a loop that never sleeps would leave nothing of its core to others.
BREATH, LONGEST_BREATH_S = 0.05, 0.005


@dataclass(frozen=True, slots=True)
class Beat:
    """The beginning of a turn. Times are the loop's clock's, in seconds."""

    index: int
    """Its place on the grid of 1/fps, from 0."""
    due_s: float
    began_s: float


class Loop:
    """A rate, the clock that it is kept by, and how well that went."""

    def __init__(self, fps: float, clock: Clock | None = None) -> None:
        if not (fps > 0 and math.isfinite(fps)):
            raise UsageError(f"fps must be positive, got {fps}")
        self.fps = fps
        self.clock: Clock = clock or HostClock()
        self.timing = Timing(fps)
        self.trouble = ""
        """Why nothing is sent just now; empty: all is well."""

    def beats(self, seconds: float | None = None) -> Iterator[Beat]:
        """Turns from now on, for some time or without end. Turns whose whole period has passed are left out.

        It sleeps until a turn is due, and does not spin: where that was measured, it missed as many turns.
        """
        clock, timing = self.clock, self.timing
        timing.begin()
        start, index = clock.now(), 0
        end = math.inf if seconds is None else math.ceil(seconds * self.fps - ROUNDING)
        while index < end:
            due = start + index / self.fps
            clock.wait_until(due)
            began = clock.now()
            if self._periods(began - due):
                clock.wait_until(began + min(BREATH * (began - due), LONGEST_BREATH_S))
                began = clock.now()
                skipped = min(self._periods(began - due), end - index)
                timing.missed += int(skipped)
                index += int(skipped)
                if index >= end:
                    return
                due = start + index / self.fps
            timing.turn(due, began)
            yield Beat(index, due, began)
            index += 1

    def _periods(self, seconds: float) -> int:
        """How many whole periods have passed."""
        return int(seconds * self.fps + ROUNDING)
