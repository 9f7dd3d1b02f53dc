"""Whether runs can be merged: what differs so that they cannot, and what differs so that it must be said."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from yardarm.errors import UsageError
from yardarm.evaluation.merging.parts import Part
from yardarm.evaluation.plan import describe_difference
from yardarm.results import is_going_on, sessions_of, simulator_packages, versions_in

__all__ = ["cautions", "check_belong"]

# They change results as a whole, not in the last bits.
FIXED_INFERENCE = ("exact", "device")
NAMES = ("method", "training_seed")


def check_belong(parts: Sequence[Part]) -> None:
    """Refuse runs that are not of one evaluation, with what differs."""
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


def _differences(first: Part, part: Part) -> Iterator[str]:
    """What keeps two runs apart, in words."""
    if first.manifest["plan"] != part.manifest["plan"]:
        yield describe_difference(first.manifest["plan"], part.manifest["plan"])
        return
    for package in simulator_packages(first.benchmarks):
        one, other = _versions(first, package), _versions(part, package)
        if one and other and one != other:
            yield f"{package} was {' and '.join(one)}, is now {' and '.join(other)}"
    for name in FIXED_INFERENCE:
        one, other = _inference(first, name), _inference(part, name)
        if one and other and one != other:
            yield f"{name} was {one[0]}, is now {other[0]}"
    for name in NAMES:
        if first.manifest.get(name) != part.manifest.get(name):
            yield f"{name} was {first.manifest.get(name)}, is now {part.manifest.get(name)}"


def cautions(parts: Sequence[Part]) -> Iterator[str]:
    """What may let the same episode differ in its last bits from part to part; and who may be playing still."""
    differing = {
        "rows in a batch": [_inference(part, "rows") for part in parts],
        "threads": [_inference(part, "threads") for part in parts],
        "torch": [_versions(part, "torch") if _inference(part, "exact") else [] for part in parts],
        "processors": [_of_sessions(part, lambda session: (session.get("machine") or {}).get("cpu")) for part in parts],
        "renderers": [_of_sessions(part, lambda session: session.get("renderer")) for part in parts],
    }
    for what, values in differing.items():
        several = list(dict.fromkeys(value for own in values for value in own))
        if len(several) > 1:
            yield f"the parts were made with different {what} ({', '.join(several)}): last bits may differ"
    for part in parts:
        if part.manifest.get("status") == "running" and is_going_on(part.folder):
            yield (
                f"{part.folder.path} was written to a moment ago, and has not ended: if it runs on another machine, "
                "merge again when it has"
            )


def _inference(part: Part, name: str) -> list[str]:
    return _of_sessions(part, lambda session: (session.get("inference") or {}).get(name))


def _versions(part: Part, package: str) -> list[str]:
    return _once(version for session in sessions_of(part.manifest) for version in versions_in(session, package))


def _of_sessions(part: Part, value: Callable[[Mapping[str, Any]], Any]) -> list[str]:
    return _once(str(found) for session in sessions_of(part.manifest) if (found := value(session)) is not None)


def _once(values: Iterable[str]) -> list[str]:
    return sorted(set(values))
