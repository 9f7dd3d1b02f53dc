"""What a number of episodes can tell apart, in a sentence."""

from __future__ import annotations

from yardarm.results import Counts
from yardarm.stats import Design

__all__ = ["resolution"]

POWER = 0.8
# Policies for the same tasks tend to find the same episodes hard; how much so is known when there are two runs.
USUAL_CORRELATION = 0.5


def resolution(counts: Counts, confidence: float) -> str | None:
    """How much better or worse another policy must be for so many episodes to show it."""
    if not counts.episodes or counts.rate is None:
        return None
    # Towards the middle, where chance is largest: the harder direction.
    direction = -0.1 if counts.rate > 0.5 else 0.1
    alpha = 1 - confidence
    paired = Design(counts.rate, direction, USUAL_CORRELATION, POWER, alpha).smallest_gap(counts.episodes)
    other = Design(counts.rate, direction, None, POWER, alpha).smallest_gap(counts.episodes)
    if paired is None:
        return f"{counts.episodes} episodes are too few to tell any other policy apart on them, at {POWER:.0%} power."
    apart = f"; on other episodes {100 * other:.0f}" if other else ""
    return (
        f"With {counts.episodes} episodes you can tell policies apart that are {100 * paired:.0f} points apart, at "
        f"{POWER:.0%} power, on the same episodes (correlation {USUAL_CORRELATION}{apart}); `yardarm plan` tells more."
    )
