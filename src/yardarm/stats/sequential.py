"""McNemar's exact test, evaluated after every pair without exceeding its level."""

from __future__ import annotations

import numpy as np

__all__ = ["SequentialMcNemar"]


class SequentialMcNemar:
    """Decides between two policies as soon as the pairs allow it.

    If neither is better, each discordant pair is a fair coin flip. The test keeps the exact distribution of such flips
    over all sequences that are still undecided. After t of at most N pairs it may have spent the fraction t/N of
    `alpha`: it decides the most extreme sequences, as many as that covers. Which pairs are discordant must not depend
    on who wins them; in an order planned beforehand it does not. So the chance of a false decision over all looks is at
    most `alpha`.

    N must be declared before the first pair: a budget that grows after an unwelcome result would spend too much.
    """

    def __init__(self, maximum: int, alpha: float = 0.05) -> None:
        if maximum < 1:
            raise ValueError(f"the maximum must be at least 1, got {maximum}")
        if not 0 < alpha < 1:
            raise ValueError(f"alpha must be between 0 and 1, got {alpha}")
        self.maximum, self.alpha = maximum, alpha
        self.looks = self.wins_a = self.discordant = 0
        self.better: str | None = None
        """ "a" or "b", once decided."""
        # For undecided sequences: the chance that A has won 0, 1, 2, … of the discordant pairs.
        self._chances = np.ones(1)
        self._spent = 0.0

    def add(self, a: bool, b: bool) -> str | None:
        """Add a pair; return the better policy if that is decided now."""
        if self.better is not None:
            return self.better
        self._check_budget()
        if a != b:
            self.discordant += 1
            self.wins_a += int(a)
            self._chances = 0.5 * (np.append(self._chances, 0.0) + np.append(0.0, self._chances))
        return self._look()

    def drop(self) -> str | None:
        """Skip a pair with an unknown outcome; it still uses up its place in the plan."""
        if self.better is not None:
            return self.better
        self._check_budget()
        return self._look()

    def _check_budget(self) -> None:
        if self.looks == self.maximum:
            raise ValueError(f"all {self.maximum} declared pairs have been added")

    def _look(self) -> str | None:
        self.looks += 1
        boundary = self._decide_extremes()
        if self.wins_a >= boundary:
            self.better = "a"
        elif self.discordant - self.wins_a >= boundary:
            self.better = "b"
        return self.better

    def _decide_extremes(self) -> int:
        """Decide the most extreme sequences, equally on both sides; return how many wins decide now."""
        allowance = self.alpha / 2 * self.looks / self.maximum - self._spent
        upper = np.cumsum(self._chances[::-1])  # the chance of at least n wins, for the largest n first
        affordable = int(np.searchsorted(upper, allowance, side="right"))
        boundary = max(self.discordant + 1 - affordable, self.discordant // 2 + 1)
        taken = self.discordant + 1 - boundary
        if taken > 0:
            self._spent += float(upper[taken - 1])
            self._chances[boundary:] = 0.0
            self._chances[:taken] = 0.0
        return boundary
