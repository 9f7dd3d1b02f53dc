"""What a number of episodes can tell apart, in a sentence."""

from __future__ import annotations

from yardarm.results import Counts
from yardarm.stats import Design, level

__all__ = ["resolution"]

POWER = 0.8
# Policies for the same tasks tend to find the same episodes hard; how much so is known when there are two runs.
USUAL_CORRELATION = 0.5


def resolution(counts: Counts, confidence: float) -> str | None:
    """How much better or worse another policy must be for the same episodes to show it."""
    if not counts.episodes or counts.rate is None:
        return None
    worse, better = (
        Design(counts.rate, direction, USUAL_CORRELATION, POWER, level(confidence)).smallest_gap(counts.episodes)
        for direction in (-0.1, 0.1)
    )
    gaps = [f"{100 * gap:.0f} points {way}" for gap, way in ((worse, "worse"), (better, "better")) if gap is not None]
    if not gaps:
        return f"{counts.episodes} episodes are too few to tell any other policy apart on them, at {POWER:.0%} power."
    return (
        f"With these {counts.episodes} episodes you can tell a policy apart that is {' or '.join(gaps)}, at "
        f"{POWER:.0%} power (if outcomes correlate by {USUAL_CORRELATION}, or as much as they can); `yardarm plan` "
        "tells more."
    )
