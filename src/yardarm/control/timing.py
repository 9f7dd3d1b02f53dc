"""How well a loop keeps its rate, and what its turns are spent on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from yardarm.control.histogram import Histogram

__all__ = ["Timing"]

# A turn is late if it begins later than this share of its period.
LATE = 0.1


class Timing:
    """Counts turns and measures them, in constant memory. Another thread may look at it at any time."""

    def __init__(self, fps: float) -> None:
        self.fps = fps
        self.done = 0
        """Turns that began."""
        self.late = 0
        """Those of them that began more than a tenth of their period too late."""
        self.missed = 0
        """Turns that never began, because the ones before took too long."""
        self.held = 0
        """Turns in which nothing was sent, because something was wrong."""
        self.period_error = Histogram()
        """How far apart turns began, compared with 1/fps."""
        self.parts: dict[str, Histogram] = {}
        """How long the parts of turns took."""
        self._before: float | None = None

    def begin(self) -> None:
        """Start to count anew from here: what lies between two rounds of a loop is no period."""
        self._before = None

    def turn(self, due_s: float, began_s: float) -> None:
        """Count a turn."""
        self.done += 1
        if began_s - due_s > LATE / self.fps:
            self.late += 1
        if self._before is not None:
            self.period_error.add(abs(began_s - self._before - 1 / self.fps))
        self._before = began_s

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Measure how long the block takes on this machine, whatever the loop's clock says."""
        began = time.perf_counter()
        try:
            yield
        finally:
            if name not in self.parts:
                self.parts = {**self.parts, name: Histogram()}  # whoever looks at the old one can go on
            self.parts[name].add(time.perf_counter() - began)

    def summary(self) -> str:
        """How well the rate was kept, in one line."""
        if not self.done:
            return "the loop made no turn"
        rate = self.fps * self.done / (self.done + self.missed)
        kept = f"{rate:.4g} of {self.fps:g} Hz" if self.missed else f"{self.fps:g} Hz kept"
        counts = f"{self.done:,} turns, {self.late:,} late, {self.missed:,} missed"
        if self.held:
            counts += f", {self.held:,} held"
        error = self.period_error
        spread = ", ".join(
            f"{name} {milliseconds(value)}"
            for name, value in (
                ("median", error.quantile(0.5)),
                ("99%", error.quantile(0.99)),
                ("worst", error.largest),
            )
        )
        return f"{kept}: {counts}; period error {spread}"

    def parts_line(self) -> str:
        """What turns were spent on, in one line; empty if nothing was measured."""
        shown = [
            f"{name} {milliseconds(part.quantile(0.5))} (99% {milliseconds(part.quantile(0.99))})"
            for name, part in self.parts.items()
        ]
        return f"a turn: {', '.join(shown)}" if shown else ""

    def to_data(self) -> dict[str, Any]:
        """The same for pages and files; times are in seconds."""
        return {
            "fps": self.fps,
            "done": self.done,
            "late": self.late,
            "missed": self.missed,
            "held": self.held,
            "period_error": _spread(self.period_error),
            "parts": {name: _spread(part) for name, part in self.parts.items()},
        }


def milliseconds(seconds: float) -> str:
    """A duration with two digits, in milliseconds."""
    value = 1000 * seconds
    return f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms" if value >= 0.1 else f"{value:.2f} ms"


def _spread(values: Histogram) -> dict[str, float]:
    return {
        "mean": values.mean,
        "median": values.quantile(0.5),
        "p99": values.quantile(0.99),
        "worst": values.largest,
    }
