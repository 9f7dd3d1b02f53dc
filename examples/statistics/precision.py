"""How many episodes `--eval.stop=precision` takes, and how often its last interval misses: a table on the page.

This is exact, not simulated: it adds up the chances of all possible sequences.
"""

from functools import cache

import numpy as np
from common import markdown

from yardarm.stats import Interval, confidence_sequence, wilson

HALF_WIDTHS, RATES = (0.1, 0.05), (0.5, 0.8, 0.95)
NEGLIGIBLE = 1e-7


@cache
def interval_of(successes: int, episodes: int) -> Interval:
    return confidence_sequence({1.0: successes, 0.0: episodes - successes})


@cache
def enough(episodes: int, half_width: float) -> int:
    """The fewest successes, from half of the episodes up, whose interval is narrow enough."""
    middle = (episodes + 1) // 2
    successes = min(episodes, enough(episodes - 1, half_width) + 1) if episodes > 1 else 1
    if interval_of(successes, episodes).half_width > half_width:
        return episodes + 1  # not even if all are solved
    while successes > middle and interval_of(successes - 1, episodes).half_width <= half_width:
        successes -= 1
    return successes


def stop(rate: float, half_width: float) -> tuple[float, float]:
    """The mean number of episodes until the interval is narrow enough, and the chance that it misses the rate."""
    chances, episodes, mean, missed = np.ones(1), 0, 0.0, 0.0
    while chances.sum() > NEGLIGIBLE:
        chances = np.append(chances * (1 - rate), 0.0) + np.append(0.0, chances * rate)
        episodes += 1
        least = enough(episodes, half_width)
        for successes in [*range(least, episodes + 1), *range(episodes - least + 1)]:
            chance, chances[successes] = chances[successes], 0.0
            mean += episodes * chance
            if chance > NEGLIGIBLE and rate not in interval_of(successes, episodes):
                missed += chance
    return mean, missed


def planned(rate: float, half_width: float) -> int:
    """How many episodes Wilson's interval needs for the same width, if the rate is known beforehand."""
    return next(n for n in range(1, 10_000) if wilson(round(rate * n), n).half_width <= half_width)


rows = []
for half_width in HALF_WIDTHS:
    for rate in RATES:
        mean, missed = stop(rate, half_width)
        rows.append(
            (
                f"± {100 * half_width:.0f} points",
                f"{rate:.0%}",
                f"{mean:.0f}",
                f"{missed:.1%}",
                str(planned(rate, half_width)),
            )
        )
print(markdown(("wanted", "true rate", "episodes", "misses", "planned ahead"), rows))
