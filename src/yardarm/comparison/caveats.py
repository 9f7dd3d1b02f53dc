"""Notes on runs whose results need caution: unfinished, stopped early, or made with mixed versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from yardarm.errors import UsageError
from yardarm.results import StoppingRecord, about_mixed_versions

__all__ = ["about_early_stop", "about_missing_episodes", "about_mix"]


def about_missing_episodes(
    path: Path, have: int, planned: int, *, judged: bool = False, allowed: bool, remedy: str
) -> tuple[str, ...]:
    """Note that an unfinished run favours quick episodes, unless they are judged in order; an error if not allowed."""
    text = f"{path} is not finished ({have} of {planned} episodes{' judged' if judged else ''})"
    text += "" if judged else ", and quick episodes, often successes, finish first"
    if not allowed:
        raise UsageError(f"{text}; {remedy} (or accept it as it is with --allow_unfinished=true)")
    return (text,)


def about_early_stop(path: Path, stopping: StoppingRecord | None) -> tuple[str, ...]:
    """Note that a run that stopped early makes p-values too small and differences too large."""
    if stopping is None or not stopping.stopped_early:
        return ()
    return (
        f"{path} was stopped early (--eval.stop={stopping.declared.rule}): tests and intervals for a fixed number of "
        "episodes are too optimistic for it; its own report, which its command prints again, has valid ones",
    )


def about_mix(path: Path, mixed: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Note that a run's sessions used different versions."""
    return (f"{path}: {about_mixed_versions(mixed).removesuffix('.')}",) if mixed else ()
