"""Where a joint's ends are, found by moving it by hand from one to the other.

A motor counts modulo a turn: 4095 is followed by 0. A joint whose travel crosses that seam would seem to reach from 0
to 4095. So the sweep follows the joint across the seam, and then moves the seam to where the joint never is.
"""

from __future__ import annotations

from dataclasses import dataclass

from yardarm.errors import UsageError

__all__ = ["JointSweep", "SweptRange", "half_turn", "home_offset"]

# A joint that moved less than this has not been swept. The smallest real travel, a gripper's, is several times as much.
LEAST_DEGREES = 15.0


@dataclass(frozen=True, slots=True)
class SweptRange:
    """Where a joint's ends are, and by how much the middle must move so that both are within one turn."""

    low: int
    high: int
    shift: int


class JointSweep:
    """Follows a joint. `wraps`: whether its readings start again after a turn."""

    def __init__(self, name: str, start: int, resolution: int, wraps: bool) -> None:
        self.name = name
        self._resolution, self._wraps = resolution, wraps
        self._last = self._position = self.low = self.high = start

    def add(self, reading: int) -> None:
        """Take a reading; between two of them, a joint moves by less than half a turn."""
        moved = reading - self._last
        if self._wraps:
            half = self._resolution // 2
            moved = (moved + half) % self._resolution - half
        self._last, self._position = reading, self._position + moved
        self.low, self.high = min(self.low, self._position), max(self.high, self._position)

    @property
    def position(self) -> int:
        """Where the joint is, counted on across the seam."""
        return self._position

    @property
    def degrees(self) -> float:
        """How far the joint has moved in all."""
        return (self.high - self.low) * 360 / self._resolution

    @property
    def missing(self) -> str:
        """What is still to be done; empty if nothing is."""
        return f"{self.name}: only {self.degrees:.0f}° so far" if self.degrees < LEAST_DEGREES else ""

    def result(self) -> SweptRange:
        """The range, if it can be right."""
        if self.missing:
            raise UsageError(
                f"{self.name} moved by {self.degrees:.1f}° only; move it from one end to the other, and calibrate again"
            )
        if self.high - self.low >= self._resolution:
            raise UsageError(
                f"{self.name} moved by {self.degrees:.0f}°, which is more than a turn; "
                "is a screw loose, or was the arm moved too fast? Calibrate again, slowly"
            )
        if self.low >= 0 and self.high < self._resolution:
            return SweptRange(self.low, self.high, 0)
        shift = (self.low + self.high) // 2 - half_turn(self._resolution)
        return SweptRange(self.low - shift, self.high - shift, shift)


def half_turn(resolution: int) -> int:
    """The reading of a joint in its middle."""
    return resolution // 2 - 1


def home_offset(offset: int, resolution: int, largest: int) -> int:
    """The same offset within what a motor can store, which may be one step short: ±`largest` leaves one out."""
    half = resolution // 2
    wrapped = (offset + half) % resolution - half
    return min(max(wrapped, -largest), largest)
