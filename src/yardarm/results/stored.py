"""A run's results, read from its folder: without its simulators, its policy, or the process that made it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from yardarm.errors import UsageError, one_line
from yardarm.results.files import RunFolder
from yardarm.results.journal import read_journal
from yardarm.results.manifest.run import RunManifest
from yardarm.results.record import EpisodeRecord
from yardarm.results.summary import RunResult, counted, summarise
from yardarm.results.training import TrainingFolder
from yardarm.results.uncertainty import Uncertainty

__all__ = ["StoredResult", "is_going_on", "planned_records", "read_result"]

# Locks that processes of this machine hold, by the inode of their file.
LOCKS = Path("/proc/locks")
INTERVAL_OPTIONS = ("confidence", "interval", "over_tasks", "stop")
# A run that no process here holds, and that was not written to for this long, was killed.
SILENT_S = 120.0


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A run's manifest, its configuration as it stands in the file, and its results so far."""

    folder: RunFolder
    manifest: RunManifest
    config: str
    result: RunResult

    @property
    def status(self) -> str:
        """Running, finished or interrupted, also where a process was killed and could not say so.

        A run that was finished and has lost episodes since is incomplete.
        """
        status = self.manifest.status
        if status == "running":
            return status if is_going_on(self.folder) else "interrupted"
        return "incomplete" if status == "finished" and self._lacks_episodes() else status

    @property
    def is_finished(self) -> bool:
        """Whether everything planned is there, or a run that may stop early has decided."""
        return self.status == "finished"

    def _lacks_episodes(self) -> bool:
        return not self.manifest.decided and len(self.result.episodes) < self.result.planned


def read_result(folder: RunFolder) -> StoredResult:
    """Read what is known of a run, finished or not; what is damaged is named."""
    import yaml

    # In C if it is installed: a viewer may read a thousand of them.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    manifest = folder.read_manifest()
    if not folder.config.exists():
        raise UsageError(f"{folder.path} has lost its config.yaml")
    try:
        text = folder.config.read_text(encoding="utf-8")
        config = yaml.load(text, Loader=loader)
        return StoredResult(folder, manifest, text, _result(folder, manifest, config))
    except (KeyError, TypeError, ValueError, AttributeError, OSError, RecursionError, yaml.YAMLError) as error:
        raise UsageError(
            f"{folder.path} cannot be understood ({one_line(error)}); it is damaged, or of another version"
        ) from error


def planned_records(manifest: RunManifest, records: Iterable[EpisodeRecord]) -> list[EpisodeRecord]:
    """The records that the plan asks for, task by task: a journal may hold more, of a longer plan of before."""
    order = {task.key(): place for place, task in enumerate(manifest.tasks)}
    newest = {record.key: record for record in records}
    own = [key for key in newest if key.task_key in order and key.index < manifest.n_episodes]
    own.sort(key=lambda key: (order[key.task_key], key.index))
    return [newest[key] for key in own]


def _result(folder: RunFolder, manifest: RunManifest, config: Mapping[str, Any]) -> RunResult:
    records = planned_records(manifest, read_journal(folder.journal))
    tasks = [task.spec() for task in manifest.tasks]
    stopping = manifest.stopping
    if stopping is not None:
        stopping = replace(stopping, played=len(records) + _played_by_opponent(folder))
    options = config.get("eval", {})
    return replace(
        summarise(folder.path, tasks, counted(records, stopping), manifest.planned_episodes, manifest.wall_s),
        uncertainty=Uncertainty.chosen(**{name: options[name] for name in INTERVAL_OPTIONS if name in options}),
        warnings=manifest.warnings,
        stopping=stopping,
        against=_opponent(folder, config),
        shard=manifest.shard,
        mixed_versions=manifest.mixed_versions,
    )


def _opponent(folder: RunFolder, config: Mapping[str, Any]) -> Path | None:
    """The run it was compared with, there or not: that of a second policy inside it, or another one."""
    named = config.get("against")
    if named is None and not folder.opponent.manifest.exists():
        return None
    return Path(named) if isinstance(named, str) else folder.opponent.path


def _played_by_opponent(folder: RunFolder) -> int:
    opponent = folder.opponent
    if not opponent.manifest.exists():
        return 0
    return len(planned_records(opponent.read_manifest(), read_journal(opponent.journal)))


def is_going_on(folder: RunFolder | TrainingFolder) -> bool:
    """Whether a process holds the journal; on another machine, where that cannot be seen, whether it writes to it."""
    try:
        own = folder.journal.stat()
        held = f":{own.st_ino} " in LOCKS.read_text() if LOCKS.exists() else False
        newest = max(own.st_mtime, folder.manifest.stat().st_mtime)
    except OSError:
        return False
    return held or time.time() - newest < SILENT_S
