"""The learning curve of runs that evaluate checkpoints of the same training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from yardarm.comparison import Comparison, ComparisonEntry, RunOutcomes

__all__ = ["over_steps"]


def over_steps(comparison: Comparison, runs: Sequence[RunOutcomes]) -> list[dict[str, Any]]:
    """Success rates over steps, for each training of which at least two checkpoints are compared."""
    entries = {entry.runs[0]: entry for entry in comparison.entries if len(entry.runs) == 1}
    trainings: dict[str, dict[int, dict[str, Any]]] = {}
    for place, run in enumerate(runs):
        found = run.policy_label.checkpoint if run.policy_label else None
        if found is None or not found.step.isdecimal() or run.name not in entries:
            continue
        points = trainings.setdefault(found.training, {})
        points.setdefault(int(found.step), {"run": place, "step": int(found.step), **_rate(entries[run.name])})
    return [
        {
            "training": training,
            "name": PurePosixPath(training).name,
            "points": [points[step] for step in sorted(points)],
        }
        for training, points in trainings.items()
        if len(points) > 1
    ]


def _rate(entry: ComparisonEntry) -> dict[str, Any]:
    counts = entry.counts
    return {
        "rate": counts.rate,
        "low": entry.interval.low,
        "high": entry.interval.high,
        "successes": counts.successes,
        "episodes": counts.episodes,
        "errors": counts.errors,
    }
