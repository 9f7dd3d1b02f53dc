"""Reads the outcomes of a run of Yardarm."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from yardarm.comparison.caveats import about_early_stop, about_missing_episodes, about_mix
from yardarm.comparison.outcomes import EpisodeName, EpisodeOutcome, RunOutcomes
from yardarm.errors import UsageError
from yardarm.results import (
    EpisodeKey,
    EpisodeRecord,
    PolicyLabel,
    RunFolder,
    RunManifest,
    counted,
    planned_records,
    read_journal,
    software_of_sessions,
)

__all__ = ["outcome_of", "read_yardarm_run"]


def read_yardarm_run(folder: RunFolder, name: str, allow_unfinished: bool = False) -> RunOutcomes:
    """Read the episodes of the run's plan; if it stopped early, those up to the decision."""
    manifest = folder.read_manifest()
    records = planned_records(manifest, read_journal(folder.journal))
    return RunOutcomes(
        name=name,
        path=folder.path,
        outcomes={_name(record.key): outcome_of(folder, record) for record in counted(records, manifest.stopping)},
        policy=manifest.plan.policy or "",
        policy_label=PolicyLabel.of(manifest),
        method=manifest.method,
        training_seed=manifest.training_seed,
        software=software_of_sessions(manifest.sessions, manifest.benchmarks),
        env={_world(env): env for env in manifest.plan.env},
        notes=(
            *_unfinished(folder, manifest, len(records), allow_unfinished),
            *about_early_stop(folder.path, manifest.stopping),
            *about_mix(folder.path, manifest.mixed_versions),
        ),
    )


def _unfinished(folder: RunFolder, manifest: RunManifest, have: int, allowed: bool) -> tuple[str, ...]:
    planned, stopping = manifest.planned_episodes, manifest.stopping
    if manifest.status == "finished" and (manifest.decided or have >= planned):
        return ()
    have = have if stopping is None else stopping.released
    # To resume the second of two policies, resume the run that it plays in.
    outer = RunFolder(folder.path.parent)
    config = outer.config if outer.manifest.exists() else folder.config
    remedy = f"resume it with `yardarm eval --config_path={config}`"
    judged = stopping is not None
    return about_missing_episodes(folder.path, have, planned, judged=judged, allowed=allowed, remedy=remedy)


def _world(env: Mapping[str, Any]) -> str:
    """The benchmark, with its suite if the options name one."""
    return "/".join(str(env[name]) for name in ("benchmark", "suite") if name in env)


def _name(key: EpisodeKey) -> EpisodeName:
    return EpisodeName.of(key.benchmark, key.task, key.index, key.seed)


def outcome_of(folder: RunFolder, record: EpisodeRecord) -> EpisodeOutcome:
    """An episode's outcome; its initial state is read from the folder on demand."""
    success = None if record.status == "error" else record.success
    return EpisodeOutcome(success, record.fingerprints.get("0"), partial(_start, folder, record.key))


def _start(folder: RunFolder, key: EpisodeKey) -> np.ndarray | None:
    try:
        return folder.initial_state(key)
    except UsageError:
        return None  # missing or damaged: it cannot be compared, so the episode is not paired
