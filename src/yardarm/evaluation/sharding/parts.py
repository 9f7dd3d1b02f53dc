"""Finds and reads the runs that are to be merged."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from yardarm.errors import UsageError
from yardarm.evaluation.policy_names import free_name
from yardarm.evaluation.sharding.shard import is_shard_folder
from yardarm.results import (
    EpisodeKey,
    EpisodeRecord,
    RunFolder,
    RunManifest,
    SeveralFolder,
    planned_records,
    read_journal,
)

__all__ = ["ShardRun", "find_runs", "grouped", "holds_shards", "lists_in"]

POLICIES = "policies"


@dataclass(frozen=True, slots=True)
class ShardRun:
    """A run as it was found; nothing in its folder is ever changed."""

    folder: RunFolder
    manifest: RunManifest
    records: Mapping[EpisodeKey, EpisodeRecord]

    @classmethod
    def read(cls, folder: RunFolder) -> ShardRun:
        """Read a run that no process is writing to."""
        manifest = folder.read_manifest()
        if _is_locked(folder.journal):
            raise UsageError(f"{folder.path} is being written by another process; merge when it has ended")
        return cls(folder, manifest, {record.key: record for record in read_journal(folder.journal)})

    @property
    def shard(self) -> str | None:
        """Which part of an evaluation it is, if it was made as one."""
        return self.manifest.shard

    @property
    def own_wall_s(self) -> float:
        """Seconds that it took, without those of runs that were merged into it."""
        return max(0.0, self.manifest.wall_s - sum(part.wall_s for part in self.manifest.merged_from))

    def planned(self, n_episodes: int) -> list[EpisodeRecord]:
        """Its episodes of a plan with `n_episodes` a task, in the plan's order."""
        return planned_records(replace(self.manifest, n_episodes=n_episodes), self.records.values())


def find_runs(paths: Iterable[Path]) -> list[RunFolder]:
    """The runs that are meant by folders: each a run, or what holds shards, or the runs of several policies."""
    found: dict[Path, RunFolder] = {}
    for path in paths:
        runs = [run for folder in (path, *_shards(path)) for run in _runs_of(folder)]
        if not runs:
            raise UsageError(
                f"{path} is neither a run nor a folder of shards" if path.exists() else f"there is no run {path}"
            )
        found |= {run.path.resolve(): run for run in runs}
    return list(found.values())


def holds_shards(path: Path) -> bool:
    """Whether shards of an evaluation lie in a folder."""
    return bool(_shards(path))


def grouped(folders: Sequence[RunFolder], output: Path) -> dict[Path, list[RunFolder]]:
    """Which runs are merged into which folder: those of lists of policies by their policies, or all into one."""
    members = [folder for folder in folders if is_listed(folder)]
    if not members:
        if SeveralFolder(output).index.exists():
            raise UsageError(f"{output} holds an evaluation of several policies; choose another --output_dir")
        return {output: list(folders)}
    if len(members) < len(folders):
        other = next(folder for folder in folders if not is_listed(folder))
        raise UsageError(
            f"{other.path} is the run of one policy, and {members[0].path} belongs to a list of several: merge each "
            "kind separately"
        )
    if RunFolder(output).manifest.exists():
        raise UsageError(f"{output} holds the run of one policy; choose another --output_dir")
    names = _names(members, SeveralFolder(output))
    merged: dict[Path, list[RunFolder]] = {}
    for folder in members:
        merged.setdefault(SeveralFolder(output).run(names[_policy(folder)]).path, []).append(folder)
    return merged


def is_listed(folder: RunFolder) -> bool:
    """Whether a run is that of a policy of a list."""
    return folder.path.parent.name == POLICIES and SeveralFolder(folder.path.parent.parent).index.exists()


def _names(members: Sequence[RunFolder], output: SeveralFolder) -> dict[str, str]:
    """What policies are called in the output, by their ids: as they are there already, or by names that are free."""
    names = {own.id: own.name for own in output.read_policies()} if output.index.exists() else {}
    for folder in members:
        if _policy(folder) not in names:
            names[_policy(folder)] = free_name(folder.path.name, names.values())
    return names


def _policy(folder: RunFolder) -> str:
    return str(folder.read_manifest().plan.policy)


def _shards(path: Path) -> list[Path]:
    return sorted(folder for folder in path.glob("shard_*") if is_shard_folder(folder) and list(_runs_of(folder)))


def lists_in(paths: Iterable[Path]) -> list[SeveralFolder]:
    """The lists of policies that are meant by folders, with those of shards that had nothing to play."""
    found = [folder for path in paths for folder in (path, *sorted(path.glob("shard_*")))]
    return [several for several in map(SeveralFolder, found) if several.index.exists()]


def _runs_of(path: Path) -> list[RunFolder]:
    manifests = [path / "manifest.json", *sorted((path / POLICIES).glob("*/manifest.json"))]
    return [RunFolder(manifest.parent) for manifest in manifests if manifest.is_file()]


def _is_locked(journal: Path) -> bool:
    """Whether a process has the journal open for writing, as far as the file system lets that be known."""
    try:
        descriptor = os.open(journal, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # some network file systems
        return False
    finally:
        os.close(descriptor)
    return False
