"""Whether runs can be merged: which differences forbid it, and which need a warning."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from yardarm.errors import UsageError
from yardarm.evaluation.plan import describe_difference
from yardarm.evaluation.sharding.parts import ShardRun
from yardarm.results import BatchingRecord, cautions, is_going_on, software_of_sessions, version_changes

__all__ = ["about_parts", "check_belong"]

# These change results visibly, not just in the last bits.
FIXED_BATCHING: Mapping[str, Callable[[BatchingRecord], Any]] = {
    "exact": lambda batching: batching.exact,
    "device": lambda batching: batching.device,
}


def check_belong(parts: Sequence[ShardRun], allow_mixed_versions: bool = False) -> None:
    """Refuse runs that do not belong to one evaluation, and say what differs; other versions can be allowed."""
    for part in parts:
        if part.manifest.plan.stopping:
            raise UsageError(
                f"{part.folder.path} may stop early, and is judged in an order of its own: it cannot be merged"
            )
        if part.folder.opponent.manifest.exists():
            raise UsageError(
                f"{part.folder.path} has a second policy's run inside ({part.folder.opponent.path}), which would be "
                "lost: two policies' runs are merged one by one"
            )
    first = parts[0]
    for part in parts[1:]:
        if why := "; ".join(_differences(first, part)):
            raise UsageError(f"{first.folder.path} and {part.folder.path} do not belong together: {why}")
    if not allow_mixed_versions:
        _refuse_other_versions(parts)


def _refuse_other_versions(parts: Sequence[ShardRun]) -> None:
    """Refuse parts that were made with different versions, unless one of them is such a mix already."""
    first = parts[0]
    known = first.manifest.sessions
    for part in parts[1:]:
        before, own = (
            software_of_sessions(sessions, first.manifest.benchmarks) for sessions in (known, part.manifest.sessions)
        )
        changes = version_changes(before, own)
        if changes and version_changes(own, before):
            raise UsageError(
                f"{first.folder.path} and {part.folder.path} do not belong together: {'; '.join(map(str, changes))}; "
                "--allow_mixed_versions=true merges them, and marks the merged run for good"
            )
        known += part.manifest.sessions


def _differences(first: ShardRun, part: ShardRun) -> Iterator[str]:
    """What keeps two runs apart, in words."""
    was, now = first.manifest, part.manifest
    if was.plan != now.plan:
        yield describe_difference(was.plan, now.plan)
        return
    for name, value in FIXED_BATCHING.items():
        one, other = _of_batching(first, value), _of_batching(part, value)
        if one and other and one != other:
            yield f"{name} was {one[0]}, is now {other[0]}"
    if was.method != now.method:
        yield f"method was {was.method}, is now {now.method}"
    if was.training_seed != now.training_seed:
        yield f"training_seed was {was.training_seed}, is now {now.training_seed}"


def about_parts(parts: Sequence[ShardRun]) -> Iterator[str]:
    """What may make the same episode differ in its last bits from part to part, and which part may still be running."""
    yield from cautions([session for part in parts for session in part.manifest.sessions])
    for part in parts:
        if part.manifest.status == "running" and is_going_on(part.folder):
            yield (
                f"{part.folder.path} was written to a moment ago, and has not ended: if it runs on another machine, "
                "merge again when it has ended"
            )


def _of_batching(part: ShardRun, value: Callable[[BatchingRecord], Any]) -> list[str]:
    return sorted({str(value(session.batching)) for session in part.manifest.sessions if session.batching})
