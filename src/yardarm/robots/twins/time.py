"""Time that passes in twins only: whoever waits lets them live until then, and nothing is ever late."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

from yardarm.robots.twins.arm_model import STEP_S

__all__ = ["NEARLY", "SteppedTwin", "TwinTime"]

# What is so much less than a whole step is one: times are sums of fractions.
NEARLY = 1e-6


class SteppedTwin(Protocol):
    """A twin that lives when somebody lets it."""

    seconds: float

    def advance(self, seconds: float) -> object:
        """Let time pass."""


class TwinTime:
    """A clock for a session with twins, which live together. It begins at the first one's time.

    Physics has steps of 2 ms: at any time, twins have done the steps that fit into it, and never one more.
    """

    def __init__(self, twins: Sequence[SteppedTwin]) -> None:
        self._twins = list(twins)
        self._now = self._twins[0].seconds
        self._ahead = [twin.seconds - self._now for twin in self._twins]

    def now(self) -> float:
        """The time."""
        return self._now

    def wait_until(self, seconds: float) -> None:
        """Let the twins live until then."""
        if not seconds > self._now:
            return
        for twin, ahead in zip(self._twins, self._ahead, strict=True):
            steps = math.floor((seconds + ahead - twin.seconds) / STEP_S + NEARLY)
            if steps > 0:
                twin.advance(steps * STEP_S)
        self._now = seconds
