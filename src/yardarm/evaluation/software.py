"""What a session's episodes are made with: the versions of the processes that simulate and infer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from yardarm.envs import installed_for
from yardarm.errors import UsageError
from yardarm.results import (
    ManifestWriter,
    SessionRecord,
    provenance,
    software_of,
    software_of_sessions,
    version_changes,
)
from yardarm.tasks import TaskSpec

__all__ = ["refuse_other_versions", "session_for"]


def session_for(tasks: Sequence[TaskSpec]) -> SessionRecord:
    """For the manifest: versions here and in other interpreters, and which interpreter each world has."""
    worlds: dict[str, dict[str, None]] = {}
    modules: dict[str, set[str]] = {"": set()}
    for task in tasks:
        worlds.setdefault(task.benchmark, {})[task.env.python] = None
        modules.setdefault(task.env.python, set()).update(task.env.modules)
    return replace(
        provenance(modules.pop("")),
        other_interpreters={python: installed_for(python, own) for python, own in modules.items()},
        worlds={world: tuple(pythons) for world, pythons in worlds.items()},
    )


def refuse_other_versions(manifest: ManifestWriter, session: SessionRecord) -> None:
    """Refuse a run whose episodes were made with other versions than this session has."""
    benchmarks = manifest.current.benchmarks
    before = software_of_sessions(manifest.current.sessions, benchmarks)
    changes = version_changes(before, software_of(session, benchmarks))
    if changes:
        raise UsageError(
            f"{manifest.folder.path} was made with other versions: {'; '.join(map(str, changes))}. Install what it was "
            "made with, choose another --output_dir, or add --allow_mixed_versions=true, which marks the run for good"
        )
