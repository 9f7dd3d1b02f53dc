"""How far an arm's joints go, and where its hand gets: found by moving it through its whole reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from yardarm.robots.clock import Clock, HostClock
from yardarm.robots.operator import Operator, Row

__all__ = ["Extremes", "follow_joints"]

HEADINGS = ("", "smallest", "now", "largest")


@dataclass(slots=True)
class Extremes:
    """The smallest and the largest of each value so far."""

    low: dict[str, float] = field(default_factory=dict)
    high: dict[str, float] = field(default_factory=dict)
    now: dict[str, float] = field(default_factory=dict)

    def add(self, values: Mapping[str, float]) -> None:
        """Take values into account."""
        self.now = dict(values)
        self.low = {name: min(value, self.low.get(name, value)) for name, value in values.items()}
        self.high = {name: max(value, self.high.get(name, value)) for name, value in values.items()}

    def rows(self) -> list[Row]:
        """A table."""
        return [
            HEADINGS,
            *(
                (name, f"{self.low[name]:.2f}", f"{value:.2f}", f"{self.high[name]:.2f}")
                for name, value in self.now.items()
            ),
        ]


def follow_joints(
    move: Callable[[], Mapping[str, float]],
    seconds: float,
    fps: float,
    operator: Operator,
    found: Extremes,
    clock: Clock | None = None,
) -> None:
    """Note the extremes for some time, at a rate; `move` lets the arm move, and says where it is."""
    clock = clock or HostClock()
    now = clock.now()
    ends = now + seconds
    while now < ends:
        found.add(move())
        operator.show(found.rows())
        clock.wait_until(now + 1 / fps)
        now = clock.now()
