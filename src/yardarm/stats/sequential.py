"""McNemar's exact test, looked at after every pair, with a chance of error that stays what it was declared to be."""

from __future__ import annotations

import numpy as np

__all__ = ["SequentialMcNemar"]


class SequentialMcNemar:
    """Decides between two policies as soon as their pairs allow it.

    If neither is better, each discordant pair is a fair coin. The test keeps the exact distribution of such coins among
    all courses that have not been decided yet. After t of at most N pairs it may have spent the t/N-th part of `alpha`:
    the most extreme courses are decided, as many as that pays for. Which pairs are discordant may depend on anything
    but on who wins any of them, and in an order that was planned before it does not. So the chance of a false decision
    is at most `alpha`, over all looks.

    N must be declared before the first pair: a budget that grows when the result is not welcome spends too much.
    """

    def __init__(self, maximum: int, alpha: float = 0.05) -> None:
        if maximum < 1:
            raise ValueError(f"the maximum must be at least 1, got {maximum}")
        if not 0 < alpha < 1:
            raise ValueError(f"alpha must lie between 0 and 1, got {alpha}")
        self.maximum, self.alpha = maximum, alpha
        self.looks = self.wins_a = self.discordant = 0
        self.better: str | None = None
        """ "a" or "b", once it is decided."""
        # Chances of A having won so many of the discordant pairs, of courses that are undecided.
        self._chances = np.ones(1)
        self._spent = 0.0

    def add(self, a: bool, b: bool) -> str | None:
        """Look at one more pair; tells who is better, if that is clear now."""
        if self.better is not None:
            return self.better
        self._check_budget()
        if a != b:
            self.discordant += 1
            self.wins_a += int(a)
            self._chances = 0.5 * (np.append(self._chances, 0.0) + np.append(0.0, self._chances))
        return self._look()

    def drop(self) -> str | None:
        """Pass over a pair of which nothing is known: its place in the plan is used up."""
        if self.better is not None:
            return self.better
        self._check_budget()
        return self._look()

    def _check_budget(self) -> None:
        if self.looks == self.maximum:
            raise ValueError(f"all {self.maximum} pairs that were declared have been looked at")

    def _look(self) -> str | None:
        self.looks += 1
        boundary = self._decide_extremes()
        if self.wins_a >= boundary:
            self.better = "a"
        elif self.discordant - self.wins_a >= boundary:
            self.better = "b"
        return self.better

    def _decide_extremes(self) -> int:
        """Take the most extreme courses out, on both sides alike; returns how many wins decide now."""
        allowance = self.alpha / 2 * self.looks / self.maximum - self._spent
        upper = np.cumsum(self._chances[::-1])  # chances of at least so many wins, the most first
        affordable = int(np.searchsorted(upper, allowance, side="right"))
        boundary = max(self.discordant + 1 - affordable, self.discordant // 2 + 1)
        taken = self.discordant + 1 - boundary
        if taken > 0:
            self._spent += float(upper[taken - 1])
            self._chances[boundary:] = 0.0
            self._chances[:taken] = 0.0
        return boundary
