"""Says which difference a number of episodes can detect."""

from __future__ import annotations

from yardarm.results import Counts
from yardarm.stats import Design, level

__all__ = ["detectable_difference"]

POWER = 0.8
# Policies tend to fail on the same episodes; by how much is only known once there are two runs.
USUAL_CORRELATION = 0.5


def detectable_difference(counts: Counts, confidence: float) -> str | None:
    """How much better or worse another policy must be for the same episodes to show the difference."""
    if not counts.episodes or counts.rate is None:
        return None
    worse, better = (
        Design(counts.rate, direction, USUAL_CORRELATION, POWER, level(confidence)).smallest_gap(counts.episodes)
        for direction in (-0.1, 0.1)
    )
    gaps = [f"{100 * gap:.0f} points {way}" for gap, way in ((worse, "worse"), (better, "better")) if gap is not None]
    if not gaps:
        return (
            f"{counts.episodes} episodes are too few to detect any difference from another policy ({POWER:.0%} power)."
        )
    return (
        f"With these {counts.episodes} episodes you can detect a policy that is {' or '.join(gaps)} ({POWER:.0%} "
        f"power, if the outcomes correlate by {USUAL_CORRELATION}, or as much as possible); see `yardarm plan`."
    )
