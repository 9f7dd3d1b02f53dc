"""A clock that passes when somebody waits, and by what work takes."""

from __future__ import annotations

from collections.abc import Iterable


class FakeClock:
    """Whoever waits may sleep too long: by each of `oversleeps` in turn, then by nothing."""

    def __init__(self, start: float = 0.0, oversleeps: Iterable[float] = ()) -> None:
        self.time = start
        self._oversleeps = iter(oversleeps)

    def now(self) -> float:
        return self.time

    def wait_until(self, seconds: float) -> None:
        if seconds > self.time:
            self.time = seconds + next(self._oversleeps, 0.0)

    def work(self, seconds: float) -> None:
        self.time += seconds
