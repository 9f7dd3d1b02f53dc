"""What must be said of the rates of a run that is not finished."""

from __future__ import annotations

from yardarm.results import StoredResult

__all__ = ["about_unfinished"]


def about_unfinished(run: StoredResult) -> str | None:
    """A caution, or None if all that was planned is there."""
    if run.is_finished:
        return None
    have, planned = len(run.result.episodes), run.result.planned
    if run.status == "incomplete":
        return f"Incomplete (it was finished once): {have} of {planned} episodes are left in its journal."
    part = f" of shard {run.result.shard}" if run.result.shard else ""
    text = f"Not finished ({run.status}): {have} of {planned} episodes{part}."
    if run.result.stopping is not None:  # those are counted in a planned order, whatever they took
        return text
    return f"{text} What finishes first is often a success, so these rates can be too high."
