"""Time, as a part: the host's, which passes by itself, or a twin's, which passes when somebody waits."""

from __future__ import annotations

import time
from typing import Protocol

__all__ = ["Clock", "HostClock"]


class Clock(Protocol):
    """Tells the time in seconds since a moment of its own. It never goes back."""

    def now(self) -> float:
        """The time."""

    def wait_until(self, seconds: float) -> None:
        """Return at a time, or at once if it has passed."""


class HostClock:
    """The machine's own, which no correction of the date can move."""

    def now(self) -> float:
        """The time."""
        return time.monotonic()

    def wait_until(self, seconds: float) -> None:
        """Sleep until then."""
        while (left := seconds - time.monotonic()) > 0:
            time.sleep(left)
