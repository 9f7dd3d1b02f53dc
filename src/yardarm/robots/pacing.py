"""Goals that approach what is asked for, no faster than they may."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = ["Pacer", "Speeds"]

# However late an action comes, a goal moves by no more than in this time: a loop that hangs must not end in a jump.
LONGEST_STEP_S = 0.1


@dataclass(frozen=True, slots=True)
class Speeds:
    """How fast a joint's goal may move, in the joint's unit per second."""

    usual: float
    start: float
    """Until it has met what is asked for."""


class Pacer:
    """Keeps the goals of joints. It has no clock: whoever calls says what time it is, in seconds."""

    def __init__(self, speeds: Mapping[str, Speeds], pause_s: float) -> None:
        self.goals: dict[str, float] = {}
        self._speeds, self._pause_s = speeds, pause_s
        self._time = 0.0
        self._starting: set[str] = set()

    @property
    def has_started(self) -> bool:
        """Whether it knows where the joints are."""
        return bool(self.goals)

    def start(self, positions: Mapping[str, float], now: float) -> None:
        """Begin where the joints are."""
        self.goals = dict(positions)
        self._time = now
        self.start_again(positions)

    def start_again(self, joints: Iterable[str]) -> None:
        """Let joints approach what is asked for slowly, from the goals that they have."""
        self._starting.update(joints)

    def stop(self) -> None:
        """Forget where the joints are."""
        self.goals.clear()
        self._starting.clear()

    def step(self, wanted: Mapping[str, float], now: float) -> dict[str, float]:
        """The goals of this moment, on the way to those that are wanted."""
        since = max(0.0, now - self._time)
        self._time = max(now, self._time)
        if since > self._pause_s:
            self.start_again(wanted)
        for name, goal in wanted.items():
            speeds = self._speeds[name]
            speed = min(speeds.start, speeds.usual) if name in self._starting else speeds.usual
            reach, before = speed * min(since, LONGEST_STEP_S), self.goals.get(name, goal)
            self.goals[name] = min(max(goal, before - reach), before + reach)
            if self.goals[name] == goal:
                self._starting.discard(name)
        return dict(self.goals)

    def correct(self, sent: Mapping[str, float]) -> None:
        """Take over what was really sent."""
        self.goals.update({name: goal for name, goal in sent.items() if name in self.goals})
