"""What all episodes of a run must share to be one experiment: the rule for who resumes, merges and compares.

Versions that can change an episode's course must be the same, unless the user allows a mix, which the run then says of
itself for good. What changes the last bits at most (processors, renderers, environment variables) is warned of.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from yardarm.results.environment import NO_MATTER
from yardarm.results.manifest.session import SessionRecord
from yardarm.results.versions import Component, Software, software_of

__all__ = [
    "VersionChange",
    "about_mixed_versions",
    "cautions",
    "mixed_versions",
    "software_of_sessions",
    "version_changes",
]

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class VersionChange:
    """What was one version, and is another now."""

    what: str
    was: str
    now: str

    def __str__(self) -> str:
        return f"{self.what} was {self.was}, is now {self.now}"


def software_of_sessions(sessions: Sequence[SessionRecord], benchmarks: Sequence[str]) -> Software:
    """All versions that the sessions which played were made with, oldest first."""
    found: dict[Component, tuple[str, ...]] = {}
    for session in _that_played(sessions):
        for component, versions in software_of(session, benchmarks).items():
            found[component] = tuple(dict.fromkeys((*found.get(component, ()), *versions)))
    return found


def version_changes(before: Software, now: Software) -> list[VersionChange]:
    """The versions in `now` that `before` does not have; what is not known on both sides is trusted."""
    changed = {
        component: (before[component], versions)
        for component, versions in now.items()
        if component in before and not set(versions) <= set(before[component])
    }
    return [VersionChange(what, _and(was), _and(new)) for what, (was, new) in _said_once(changed)]


def mixed_versions(sessions: Sequence[SessionRecord], benchmarks: Sequence[str]) -> dict[str, list[str]]:
    """What the sessions of a run used in several versions, and in which; empty for a run as it should be."""
    played = [software_of(session, benchmarks) for session in _that_played(sessions)]
    used = {
        component: list(dict.fromkeys(own[component] for own in played if component in own))
        for component in dict.fromkeys(itertools.chain(*played))
    }
    mixed = {component: versions for component, versions in used.items() if len(versions) > 1}
    return {what: list(dict.fromkeys(itertools.chain(*versions))) for what, versions in _said_once(mixed)}


def _said_once(found: Mapping[Component, Found]) -> list[tuple[str, Found]]:
    """By name, without what workers only share with the main process, as they do unless they have an interpreter."""
    return [
        (str(component), own)
        for component, own in found.items()
        if not component.place or found.get(Component("", component.package)) != own
    ]


def about_mixed_versions(mixed: Mapping[str, Sequence[str]]) -> str:
    """What must be said of a run with mixed versions; nothing of others."""
    if not mixed:
        return ""
    listed = "; ".join(f"{what} {_and(versions)}" for what, versions in mixed.items())
    return (
        f"Mixed versions ({listed}): the episodes were not all played by the same software, so these rates mix "
        "different experiments."
    )


def cautions(sessions: Sequence[SessionRecord]) -> Iterator[str]:
    """What may let the same episode differ from session to session in its last bits."""
    played = _that_played(sessions)
    differing: dict[str, Callable[[SessionRecord], Any]] = {
        "rows in a batch": lambda session: session.batching and session.batching.rows,
        "threads": lambda session: session.batching and session.batching.threads,
        "processors": lambda session: session.machine and session.machine.cpu,
        "renderers": lambda session: session.renderer,
    }
    for what, value in differing.items():
        several = sorted({str(found) for session in played if (found := value(session)) is not None})
        if len(several) > 1:
            yield f"made with different {what} ({', '.join(several)}): last bits may differ"
    for name, values in _differing_variables(played).items():
        yield f"made with different values of {name} ({', '.join(values)}): last bits may differ"


def _differing_variables(sessions: Sequence[SessionRecord]) -> dict[str, list[str]]:
    """The environment variables that had several values, or were set in some sessions only."""
    known = [variables for session in sessions if (variables := session.environment_variables) is not None]
    names = sorted({name for variables in known for name in variables} - NO_MATTER)
    found = {name: sorted({variables.get(name, "not set") for variables in known}) for name in names}
    return {name: values for name, values in found.items() if len(values) > 1}


def _that_played(sessions: Sequence[SessionRecord]) -> list[SessionRecord]:
    """Without those of shards that had nothing to play."""
    return [session for session in sessions if session.played]


def _and(versions: Sequence[str]) -> str:
    return " and ".join(versions)
