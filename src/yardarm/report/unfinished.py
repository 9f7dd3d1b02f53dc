"""The caution about the rates of an unfinished run."""

from __future__ import annotations

from yardarm.results import StoredResult

__all__ = ["about_unfinished"]


def about_unfinished(run: StoredResult) -> str | None:
    """A caution, or None if the run is complete."""
    if run.is_finished:
        return None
    have, planned = len(run.result.episodes), run.result.planned
    if run.status == "incomplete":
        return f"Incomplete (the run had finished): only {have} of {planned} episodes are still in its journal."
    part = f" of shard {run.result.shard}" if run.result.shard else ""
    text = f"Not finished ({run.status}): {have} of {planned} episodes{part}."
    if run.result.stopping is not None:  # such episodes count in a planned order, however long they took
        return text
    return f"{text} Episodes that finish first are often successes, so these rates may be too high."
