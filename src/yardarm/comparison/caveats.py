"""What must be said of a run that did not play all that was planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from yardarm.errors import UsageError
from yardarm.results import StoppingRecord, about_mixed_versions

__all__ = ["about_early_stop", "about_missing_episodes", "about_mix"]


def about_missing_episodes(
    path: Path, have: int, planned: int, *, judged: bool = False, allowed: bool, go_on: str
) -> tuple[str, ...]:
    """Which episodes of an unfinished run are there depends on how long they took, unless they were judged in order."""
    text = f"{path} is not finished ({have} of {planned} episodes{' judged' if judged else ''})"
    text += "" if judged else ", and the quick ones, often successes, come first"
    if not allowed:
        raise UsageError(f"{text}; {go_on} (or take it as it is, with --allow_unfinished=true)")
    return (text,)


def about_early_stop(path: Path, stopping: StoppingRecord | None) -> tuple[str, ...]:
    """Who stops when it looks good has a p-value that is too small, and a rate that is too far out."""
    if stopping is None or not stopping.stopped_early:
        return ()
    return (
        f"{path} was stopped early (--eval.stop={stopping.declared.rule}): tests and intervals for a fixed number of "
        "episodes flatter it; its own report, which its command prints again, has those that hold",
    )


def about_mix(path: Path, mixed: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """A run whose sessions had different versions says so wherever it goes."""
    return (f"{path}: {about_mixed_versions(mixed).removesuffix('.')}",) if mixed else ()
