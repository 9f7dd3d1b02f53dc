"""Reads the outcomes of one of Yardarm's runs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from yardarm.comparison.outcomes import EpisodeName, Outcome, RunOutcomes
from yardarm.errors import UsageError
from yardarm.results import BUDGET_SPENT, EpisodeKey, EpisodeRecord, RunFolder, counted, read_journal

__all__ = ["outcome_of", "read_yardarm_run"]


def read_yardarm_run(folder: RunFolder, name: str, allow_unfinished: bool = False) -> RunOutcomes:
    """The episodes of the run's plan; of a run that was stopped early, those up to the decision."""
    manifest = folder.read_manifest()
    records = _planned(manifest, {record.key: record for record in read_journal(folder.journal)})
    counting = counted(records.values(), manifest.get("stopping"))
    notes = _unfinished(folder, manifest, records, allow_unfinished)
    return RunOutcomes(
        name=name,
        path=folder.path,
        outcomes={_name(record.key): outcome_of(folder, record) for record in counting},
        policy=str(manifest["plan"].get("policy", "")),
        method=manifest.get("method"),
        training_seed=manifest.get("training_seed"),
        env={_world(env): env for env in manifest["plan"].get("env", [])},
        notes=(*notes, *_stopped(folder, manifest)),
    )


def _planned(manifest: dict[str, Any], records: dict[EpisodeKey, EpisodeRecord]) -> dict[EpisodeKey, EpisodeRecord]:
    """The records that the plan asks for, task by task: a journal may hold more, of a longer plan of before."""
    order = {(task["benchmark"], task["env"], task["name"]): place for place, task in enumerate(manifest["tasks"])}
    own = [key for key in records if (key.benchmark, key.env, key.task) in order and key.index < manifest["n_episodes"]]
    own.sort(key=lambda key: (order[key.benchmark, key.env, key.task], key.index))
    return {key: records[key] for key in own}


def _unfinished(
    folder: RunFolder, manifest: dict[str, Any], records: dict[EpisodeKey, EpisodeRecord], allowed: bool
) -> tuple[str, ...]:
    """Which episodes of an unfinished run are there depends on how long they took: long ones, often failures, lack."""
    distinct = {(task["benchmark"], task["env"], task["name"]) for task in manifest["tasks"]}
    planned = manifest["n_episodes"] * len(distinct)
    stopped = (manifest.get("stopping") or {}).get("decision") is not None
    if manifest.get("status") == "finished" and (stopped or len(records) >= planned):
        return ()
    have = f"{len(records)} of {planned} episodes"
    text = f"{folder.path} is not finished ({have}), and the quick ones, often successes, come first"
    if not allowed:
        raise UsageError(
            f"{text}; go on with `yardarm eval --config_path={folder.config}`, or add --allow_unfinished=true"
        )
    return (text,)


def _stopped(folder: RunFolder, manifest: dict[str, Any]) -> tuple[str, ...]:
    """Who stops when it looks good has a p-value that is too small, and a rate that is too far out."""
    stopping = manifest.get("stopping")
    if not stopping or stopping.get("decision") in (None, BUDGET_SPENT):
        return ()
    return (
        f"{folder.path} was stopped early (--eval.stop={stopping['rule']}): tests and intervals for a fixed number of "
        "episodes flatter it; its own report has those that hold",
    )


def _world(env: dict[str, Any]) -> str:
    """A benchmark, and which part of it, where its options say so."""
    return "/".join(str(env[name]) for name in ("benchmark", "suite") if name in env)


def _name(key: EpisodeKey) -> EpisodeName:
    return EpisodeName(f"{key.benchmark}/{key.task}", key.index, key.seed)


def outcome_of(folder: RunFolder, record: EpisodeRecord) -> Outcome:
    """How an episode went, and where it began, which is read from the folder when it is asked for."""
    success = None if record.status == "error" else record.success
    return Outcome(success, record.fingerprints.get("0"), partial(_start, folder, record.key))


def _start(folder: RunFolder, key: EpisodeKey) -> np.ndarray | None:
    try:
        return folder.load_played(key).initial_state
    except UsageError:
        return None  # missing or damaged: then it cannot be compared, and the pair is not one
