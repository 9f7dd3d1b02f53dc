"""Joints under strain: which must yield to a load, and when an arm that is too hot lets go."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from yardarm.robots.motors import MotorHealth

__all__ = ["HOLD_S", "Cooling", "LoadWatch", "SilenceWatch", "heat_limit"]

# How many looks in a row must find a load too high: a moment of it is part of any quick move.
OVERLOADED_LOOKS = 2
# How many looks in a row a motor may be silent before somebody is told, and before nothing is sent any more.
WARNING_LOOKS, MOST_SILENT_LOOKS = 2, 4
# An overloaded joint moves again when its load has fallen to this share of the limit.
RELIEVED = 0.7
# The arm stops this far below the temperature at which its motors would switch themselves off, and drop it.
MARGIN_C = 5.0
# From then until its joints are released, and from one joint to the next, in seconds.
HOLD_S, RELEASE_EVERY_S = 5.0, 0.5


class LoadWatch:
    """Counts how long joints are overloaded."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._looks: dict[str, int] = {}

    def look(self, health: Mapping[str, MotorHealth], yielding: Collection[str]) -> tuple[list[str], list[str]]:
        """Who has to yield from now on, and who of those that are yielding may move again."""
        yields, relieved = [], []
        for name, own in health.items():
            self._looks[name] = self._looks.get(name, 0) + 1 if own.load > self._limit else 0
            if name in yielding and own.load < RELIEVED * self._limit:
                relieved.append(name)
            elif name not in yielding and self._looks[name] >= OVERLOADED_LOOKS:
                yields.append(name)
        return yields, relieved


class SilenceWatch:
    """Counts how long motors are silent."""

    def __init__(self) -> None:
        self._looks: dict[str, int] = {}

    def look(self, silent: Collection[str]) -> tuple[list[str], list[str]]:
        """Who has been silent for so long that somebody must know, and who for too long."""
        self._looks = {name: self._looks.get(name, 0) + 1 for name in silent}
        worrying = [name for name, looks in self._looks.items() if looks == WARNING_LOOKS]
        return worrying, [name for name, looks in self._looks.items() if looks >= MOST_SILENT_LOOKS]


class Cooling:
    """An arm that is too hot: it holds still for a while, so that somebody can support it, and then lets go."""

    def __init__(self, joints: Sequence[str], goals: Mapping[str, float], since: float) -> None:
        self.goals = dict(goals)
        """What it holds until then."""
        self.released: set[str] = set()
        self._from_the_tip = list(reversed(joints))
        self._lets_go = since + HOLD_S

    def due(self, now: float) -> list[str]:
        """The joints to release now, from the tip to the base, with those that did not listen before."""
        count = max(0, math.floor((now - self._lets_go) / RELEASE_EVERY_S) + 1)
        return [joint for joint in self._from_the_tip[:count] if joint not in self.released]

    def is_over(self, now: float) -> bool:
        """Whether the time of all joints has come."""
        return now >= self._lets_go + RELEASE_EVERY_S * len(self._from_the_tip)


def heat_limit(health: MotorHealth, own: float | None) -> float:
    """The temperature at which the arm stops: the user's, or one safely below the motor's own limit."""
    return health.temperature_limit - MARGIN_C if own is None else own
