"""Which rollout each episode of a dataset is: ``meta/rollouts.jsonl``.

Line k is the record of episode k as the run's own journal has it, without what it cost. It is written before the
episode is, so that a recording that was killed knows what it has.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from yardarm.datasets import DatasetMetadata, DatasetWriter, read_metadata, rollouts_file
from yardarm.errors import UsageError
from yardarm.files import write_atomically
from yardarm.recording.config import RecordConfig
from yardarm.recording.dataset_plan import DatasetPlan
from yardarm.recording.source_episodes import SourceEpisode
from yardarm.results import EpisodeRecord, Journal, read_journal
from yardarm.tasks import EpisodeTiming

__all__ = ["check_policy", "check_root", "existing_dataset", "ledger_line", "missing", "open_dataset", "open_ledger"]


def existing_dataset(root: Path, plan: DatasetPlan) -> DatasetMetadata | None:
    """The dataset that is there already, if it can be continued; refuse what is something else."""
    if not root.exists() or (root.is_dir() and not any(root.iterdir())):
        return None
    if not (root / "meta" / "info.json").exists():
        raise UsageError(f"{root} is a file, or a folder with something else in it; choose another folder")
    meta = read_metadata(root)
    schema = plan.schema()
    differing = [name for name in {**meta.info.features, **schema} if meta.info.features.get(name) != schema.get(name)]
    if meta.fps != plan.info.fps or differing:
        what = f"fps is {meta.fps}, not {plan.info.fps}" if not differing else f"'{differing[0]}' differs"
        raise UsageError(f"{root} holds a dataset of other features ({what}); choose another folder")
    known = len(_records(meta))
    if known < meta.total_episodes:
        raise UsageError(
            f"{root} holds a dataset with {meta.total_episodes} episodes, {known} of which were recorded by this "
            "command; choose another folder"
        )
    return meta


def check_root(root: Path, plan: DatasetPlan, config: RecordConfig) -> None:
    """Refuse a folder in which the dataset cannot be written, before anything is played."""
    meta = existing_dataset(root, plan)
    there = next(folder for folder in (root, *root.parents) if folder.exists())
    try:
        tempfile.TemporaryDirectory(dir=there).cleanup()
    except OSError as error:
        raise UsageError(f"{root} cannot be written: {error.strerror} in {there}; choose another folder") from error
    for record in _records(meta) if meta else ():
        _check_planned(root, record, plan, config)


def _check_planned(root: Path, record: EpisodeRecord, plan: DatasetPlan, config: RecordConfig) -> None:
    """Refuse a dataset with an episode that this recording would not make, as far as is known before playing."""
    key, options = record.key, config.options
    what = f"{root} holds seed {key.seed} of '{key.task}'"
    if (key.benchmark, key.task) not in plan.tasks:
        raise UsageError(f"{what}, which is not one of the tasks to record; choose another folder")
    if key.seed != config.evaluation.seed + key.index:
        raise UsageError(f"{what}, which --seed={config.evaluation.seed} would not play; choose another folder")
    if not options.only_successes and key.index >= options.n_episodes:
        raise UsageError(
            f"{what}: more than --n_episodes={options.n_episodes} are there already; "
            "`yardarm dataset delete` removes some"
        )


def check_policy(root: Path, policy_id: str) -> None:
    """Refuse a dataset of another policy's episodes."""
    path = rollouts_file(root)
    for record in read_journal(path) if path.exists() else ():
        if record.key.policy != policy_id:
            raise UsageError(
                f"{root} holds episodes of '{record.key.policy}', not of '{policy_id}'; choose another folder"
            )


def open_dataset(root: Path, plan: DatasetPlan) -> DatasetWriter:
    """Start a dataset, or continue it."""
    if existing_dataset(root, plan) is None:
        return DatasetWriter.create(root, plan.info, plan.encoding)
    return DatasetWriter.resume(root, plan.encoding)


def open_ledger(meta: DatasetMetadata) -> Journal:
    """The ledger, without the line of an episode that was never saved."""
    path, whole = rollouts_file(meta.root), meta.total_episodes
    if path.exists():
        lines = path.read_bytes().splitlines(keepends=True)
        if len(lines) > whole:
            write_atomically(path, lambda file: file.writelines(lines[:whole]))
    return Journal(path)


def ledger_line(source: SourceEpisode) -> EpisodeRecord:
    """An episode's record without what differs between two runs of it."""
    return replace(source.record, place=None, attempts=1, timing=EpisodeTiming())


def missing(sources: Sequence[SourceEpisode], meta: DatasetMetadata) -> list[SourceEpisode]:
    """What is not in the dataset yet; refuse a dataset whose episodes are others."""
    wanted = {source.record.key: source for source in sources}
    for record, episode in zip(_records(meta), meta.episodes, strict=True):
        source = wanted.pop(record.key, None)
        name = f"episode {episode.index} of {meta.root} (seed {record.key.seed} of '{record.key.task}')"
        if source is None:
            raise UsageError(f"{name} is not one of those to record now; choose another folder")
        fits = (episode.length, episode.tasks) == (record.steps, (source.instruction,))
        if not fits or record.course() != source.record.course():
            raise UsageError(f"{name} went another way than in {source.folder.path}; choose another folder")
    return [source for source in sources if source.record.key in wanted]


def _records(meta: DatasetMetadata) -> list[EpisodeRecord]:
    return list(read_journal(rollouts_file(meta.root)))[: meta.total_episodes]
