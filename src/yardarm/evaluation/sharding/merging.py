"""Joins runs that are parts of one evaluation."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, Any

from yardarm.config import read_config_file, write_config_file
from yardarm.errors import UsageError
from yardarm.evaluation.folders import refuse_results_of_others
from yardarm.evaluation.sharding.belonging import about_parts, check_belong
from yardarm.evaluation.sharding.lists import MergedList
from yardarm.evaluation.sharding.parts import ShardRun, find_runs, grouped, holds_shards
from yardarm.evaluation.sharding.shard import Shard, absent_of
from yardarm.files import write_all, write_json
from yardarm.results import (
    EpisodeKey,
    EpisodeRecord,
    Journal,
    MergedPart,
    RunFolder,
    RunManifest,
    RunResult,
    SessionRecord,
    eval_info,
    now,
    read_result,
)

__all__ = ["MergedRun", "merge_runs"]

COPIES_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class MergedRun:
    """The result of a merge."""

    result: RunResult
    absent_shards: tuple[str, ...]
    """The shards without a run, if there are shards."""

    @property
    def missing(self) -> int:
        """How many episodes of the plan none of the parts has."""
        return self.result.planned - len(self.result.episodes)


def merge_runs(
    paths: Sequence[Path], output_dir: Path | None = None, allow_mixed_versions: bool = False
) -> list[MergedRun]:
    """Merge runs into a folder; without one, the shards in the one folder that is given into that folder.

    There is one merged run, or one for each policy of an evaluation of several. What a folder that exists has of the
    same evaluation is kept. Parts of different versions are merged with `allow_mixed_versions` only, which marks the
    merged run for good.
    """
    runs = find_runs(paths)
    if output_dir is None:
        if len(paths) != 1 or not holds_shards(paths[0]):
            raise UsageError(
                "--output_dir is missing: without it, a folder with shards inside is merged, and nothing else"
            )
        (output_dir,) = paths
    # All is read and checked before anything is written.
    merges = [
        _Merge.of(RunFolder(path), parts, allow_mixed_versions) for path, parts in grouped(runs, output_dir).items()
    ]
    names = {merge.policy: merge.target.path.name for merge in merges}
    whole = MergedList.read(paths, output_dir, names)
    try:
        merged = [merge.write() for merge in merges]
        if whole is not None:
            whole.write()
            merged = [replace(run, absent_shards=whole.absent_shards) for run in merged]
        return merged
    except OSError as error:
        raise UsageError(
            f"{error.filename or output_dir} cannot be copied or written: {error.strerror}; no part was changed: fix "
            "that, and run the command again"
        ) from error


@dataclass(frozen=True, slots=True)
class _Merge:
    """Parts that belong together, and where they go."""

    target: RunFolder
    there: ShardRun | None
    """What is in the target already; it comes before the others."""
    others: Sequence[ShardRun]
    n_episodes: int
    kept: dict[EpisodeKey, tuple[ShardRun, EpisodeRecord]] = field(default_factory=dict)
    """Each episode once, and the part it is from."""
    unlike: list[tuple[ShardRun, EpisodeRecord]] = field(default_factory=list)
    """Episodes that went differently than those that were kept in their place."""

    @classmethod
    def of(cls, target: RunFolder, folders: Sequence[RunFolder], allow_mixed_versions: bool) -> _Merge:
        there = ShardRun.read(target) if target.manifest.exists() else None
        if there is None:
            refuse_results_of_others(target)
        elif there.shard:
            raise UsageError(f"{target.path} holds shard {there.shard}; choose another --output_dir")
        others = [ShardRun.read(folder) for folder in folders if folder.path.resolve() != target.path.resolve()]
        parts = [there, *others] if there else others
        check_belong(parts, allow_mixed_versions)
        merge = cls(target, there, others, max(part.manifest.n_episodes for part in parts))
        merge._choose()
        return merge

    @property
    def policy(self) -> str:
        """The policy that played them."""
        return str(self.parts[0].manifest.plan.policy)

    @property
    def parts(self) -> list[ShardRun]:
        return [self.there, *self.others] if self.there else [*self.others]

    def _choose(self) -> None:
        """The first of several, but any before one that ended in an error."""
        for part in self.parts:
            for record in part.planned(self.n_episodes):
                known = self.kept.get(record.key)
                if known is None or (known[1].status == "error" and record.status != "error"):
                    self.kept[record.key] = part, record
                elif record.status != "error" and record.course() != known[1].course():
                    self.unlike.append((part, record))

    def write(self) -> MergedRun:
        """Write the merged run; if that is interrupted, writing it again completes it."""
        from yardarm.pages import write_report

        config = self._config()
        self.target.path.mkdir(parents=True, exist_ok=True)
        with Journal(self.target.journal) as journal:
            manifest = self._manifest()
            write_config_file(self.target.config, config)
            # From here on the folder is marked as this evaluation's, and not finished.
            write_json(self.target.manifest, replace(manifest, status="interrupted").to_json())
            lost = self._copy_played(journal)
            self._copy_replayed()
            records = [record for _, record in self._in_order()]
            journal.extend([record for record in records if record != journal.records.get(record.key)])
            status = "finished" if len(records) == manifest.planned_episodes else "interrupted"
            warnings = (*manifest.warnings, *_about_lost(lost))
            write_json(self.target.manifest, replace(manifest, status=status, warnings=warnings).to_json())
            result = read_result(self.target).result
            write_json(self.target.eval_info, eval_info(result, self.target.videos()))
            write_report(self.target)
        return MergedRun(result, self._absent_shards())

    def _in_order(self) -> list[tuple[ShardRun, EpisodeRecord]]:
        """In the order of the plan."""
        every = ShardRun(self.target, self.parts[0].manifest, {key: record for key, (_, record) in self.kept.items()})
        return [self.kept[record.key] for record in every.planned(self.n_episodes)]

    def _manifest(self) -> RunManifest:
        manifests = [part.manifest for part in self.parts]
        merged_from = self._merged_from()
        own = self.there.own_wall_s if self.there else 0.0
        return replace(
            manifests[0],
            shard=None,
            planned=None,
            tracking=self.there.manifest.tracking if self.there else None,
            n_episodes=self.n_episodes,
            started=min((manifest.started for manifest in manifests if manifest.started), default=None),
            updated=now(),
            wall_s=own + sum(part.wall_s for part in merged_from),
            warnings=tuple(dict.fromkeys(self._warnings())),
            merged_from=merged_from,
            sessions=self._sessions(),
        )

    def _sessions(self) -> tuple[SessionRecord, ...]:
        """Those of all parts, and of runs that were merged before: last of all the newest that played."""
        sessions = [session for part in self.others for session in part.manifest.sessions]
        known = [_which(session) for session in sessions]
        there = self.there.manifest.sessions if self.there else ()
        sessions += [session for session in there if _which(session) not in known]
        return tuple(sorted(sessions, key=lambda own: (own.played, str(own.started))))

    def _merged_from(self) -> tuple[MergedPart, ...]:
        """The parts, of this merge and of earlier ones. Their seconds are added up, though they may run at once."""
        known = {part.run: part for part in (self.there.manifest.merged_from if self.there else ())}
        for part in self.others:
            name = self._name(part)
            known[name] = MergedPart(
                run=name,
                shard=part.shard,
                episodes=len(part.records),
                wall_s=part.own_wall_s,
                machine=part.manifest.newest.machine,
            )
        return tuple(known.values())

    def _name(self, part: ShardRun) -> str:
        """A part's folder as seen from the merged run's, so that both can be moved together."""
        return os.path.relpath(part.folder.path, self.target.path)

    def _warnings(self) -> Iterator[str]:
        for part in self.parts:
            of_part = "" if part is self.there else f"{self._name(part)}: "
            yield from (f"{of_part}{warning}" for warning in part.manifest.warnings)
        yield from about_parts(self.parts)
        if self.unlike:
            part, record = self.unlike[0]
            yield (
                f"{len(self.unlike)} episode(s) are in several parts and went differently there, e.g. episode "
                f"{record.key.index} of '{record.key.task}' in {self._name(part)}: the first was kept; policy, "
                "simulator or machine is not deterministic"
            )

    def _config(self) -> dict[str, Any]:
        data = read_config_file(self.parts[0].folder.config)
        options = {**data.get("eval", {}), "n_episodes": self.n_episodes}
        return {**data, "output_dir": str(self.target.path), "shard": None, "eval": options}

    def _copy_played(self, journal: Journal) -> int:
        """Copy the actions of episodes that are new here; returns of how many they are lost."""
        new = [
            (part.folder.actions(record.key), self.target.actions(record.key))
            for part, record in self._in_order()
            if record.status != "error" and record != journal.records.get(record.key)
        ]
        found = [(source, target) for source, target in new if source.exists()]
        _copy_all(found)
        return len(new) - len(found)

    def _copy_replayed(self) -> None:
        """Copy pictures, videos, and what replays saw, of episodes that went like those that are kept."""
        for part in self.others:
            replayed = part.folder.replayed()
            found = [
                (source, self.target.path / source.relative_to(part.folder.path))
                for record in part.planned(self.n_episodes)
                if record.course() == self.kept[record.key][1].course()
                for source in replayed(record.key)
            ]
            _copy_all([(source, target) for source, target in found if not target.exists()])

    def _absent_shards(self) -> tuple[str, ...]:
        return absent_of({Shard.parse(part.shard) for part in self.parts if part.shard})


def _which(session: SessionRecord) -> tuple[Any, ...]:
    """What distinguishes a session from others, and does not change while it runs."""
    return session.started, session.machine, session.command


def _about_lost(lost: int) -> Iterable[str]:
    return [f"the actions of {lost} episode(s) are lost, so they cannot be replayed"] if lost else []


def _copy_all(files: Sequence[tuple[Path, Path]]) -> None:
    with ThreadPoolExecutor(COPIES_AT_ONCE) as threads:
        write_all([(target, partial(_copy, source)) for source, target in files], threads)


def _copy(source: Path, into: IO[bytes]) -> None:
    with source.open("rb") as file:
        shutil.copyfileobj(file, into)
