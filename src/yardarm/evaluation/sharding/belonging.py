"""Whether runs can be merged: which differences forbid it, and which need a warning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from yardarm.errors import UsageError
from yardarm.evaluation.plan import describe_difference
from yardarm.evaluation.sharding.parts import Part
from yardarm.results import cautions, is_going_on, sessions_of, software_of_sessions, version_changes

__all__ = ["about_parts", "check_belong"]

# These change results visibly, not just in the last bits.
FIXED_INFERENCE = ("exact", "device")
NAMES = ("method", "training_seed")


def check_belong(parts: Sequence[Part], allow_mixed_versions: bool = False) -> None:
    """Refuse runs that do not belong to one evaluation, and say what differs; other versions can be allowed."""
    for part in parts:
        if part.manifest["plan"].get("stopping"):
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


def _refuse_other_versions(parts: Sequence[Part]) -> None:
    """Refuse parts that were made with different versions, unless one of them is such a mix already."""
    first = parts[0]
    known = sessions_of(first.manifest)
    for part in parts[1:]:
        before, own = (
            software_of_sessions(sessions, first.benchmarks) for sessions in (known, sessions_of(part.manifest))
        )
        changes = version_changes(before, own)
        if changes and version_changes(own, before):
            raise UsageError(
                f"{first.folder.path} and {part.folder.path} do not belong together: {'; '.join(map(str, changes))}; "
                "--allow_mixed_versions=true merges them, and marks the merged run for good"
            )
        known += sessions_of(part.manifest)


def _differences(first: Part, part: Part) -> Iterator[str]:
    """What keeps two runs apart, in words."""
    if first.manifest["plan"] != part.manifest["plan"]:
        yield describe_difference(first.manifest["plan"], part.manifest["plan"])
        return
    for name in FIXED_INFERENCE:
        one, other = _inference(first, name), _inference(part, name)
        if one and other and one != other:
            yield f"{name} was {one[0]}, is now {other[0]}"
    for name in NAMES:
        if first.manifest.get(name) != part.manifest.get(name):
            yield f"{name} was {first.manifest.get(name)}, is now {part.manifest.get(name)}"


def about_parts(parts: Sequence[Part]) -> Iterator[str]:
    """What may make the same episode differ in its last bits from part to part, and which part may still be running."""
    yield from cautions([session for part in parts for session in sessions_of(part.manifest)])
    for part in parts:
        if part.manifest.get("status") == "running" and is_going_on(part.folder):
            yield (
                f"{part.folder.path} was written to a moment ago, and has not ended: if it runs on another machine, "
                "merge again when it has ended"
            )


def _inference(part: Part, name: str) -> list[str]:
    found = [(session.get("inference") or {}).get(name) for session in sessions_of(part.manifest)]
    return sorted({str(value) for value in found if value is not None})
