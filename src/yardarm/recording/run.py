"""A recording, from its configuration to the dataset: evaluate → choose episodes → play them again → write → push."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from yardarm.evaluation import EvalConfig, EvaluationListener, evaluate
from yardarm.recording.config import RecordConfig, RecordDatasetOptions, Target
from yardarm.recording.dataset_plan import DatasetPlan, plan_dataset
from yardarm.recording.hub import check_hub, push
from yardarm.recording.ledger import check_root, existing_dataset
from yardarm.recording.listener import RecordingListener
from yardarm.recording.playing import play_enough, too_few
from yardarm.recording.source_episodes import choose_episodes
from yardarm.recording.writing import RecordedDataset, write_dataset
from yardarm.results import RunResult

__all__ = [
    "Recording",
    "RecordingPlan",
    "evaluate_and_record",
    "plan_recording",
    "plan_recording_of",
    "record",
    "record_run",
]

# Below the folder of an evaluation that is recorded.
BESIDE_RESULTS = Path("recordings")


@dataclass(frozen=True, slots=True)
class RecordingPlan:
    """What to write of a run, and where."""

    dataset: DatasetPlan
    target: Target
    """A relative folder lies inside the run's."""
    successes: int | None = None
    """How many successes of each task; None: all episodes, but for errors."""
    workers: int = 0


@dataclass(frozen=True, slots=True)
class Recording:
    """What became of a recording."""

    run: RunResult
    """The episodes that were played."""
    dataset: RecordedDataset | None
    """None: there was no episode to record."""
    too_few: Mapping[str, int]
    """Tasks with fewer successes than were asked for, and how many they have."""


def record(config: RecordConfig, listener: RecordingListener | None = None) -> Recording:
    """Play episodes, and write those that are wanted as a dataset; resumes what the same configuration started."""
    listener = listener or RecordingListener()
    plan = plan_recording(config)
    with listener.evaluating() as evaluation:
        result = play_enough(config, evaluation)
    missing = too_few(result, plan.successes) if plan.successes else {}
    listener.played(result, missing)
    return Recording(result, record_run(result, plan, listener), missing)


def evaluate_and_record(config: EvalConfig, listener: EvaluationListener | None = None) -> RunResult:
    """Evaluate a policy, and write all of its episodes as a dataset beside its results."""
    plan = plan_recording_of(config)
    result = evaluate(config, listener)
    dataset = record_run(result, plan)
    skipped = dataset.skipped if dataset else 0
    warnings = (f"{skipped} episodes could not be recorded",) if skipped else ()
    return replace(result, warnings=(*result.warnings, *warnings))


def plan_recording(config: RecordConfig) -> RecordingPlan:
    """What ``yardarm record`` will write; what cannot be recorded is refused before anything is played."""
    options, target = config.options, config.dataset.target
    dataset = plan_dataset(config.dataset, config.evaluation.envs, config.evaluation.trust_remote_code)
    check_root(target.root, dataset, config)
    check_hub(target)
    return RecordingPlan(dataset, target, options.n_episodes if options.only_successes else None, options.workers)


def plan_recording_of(config: EvalConfig) -> RecordingPlan:
    """What ``--eval.recording`` will write; what cannot be recorded is refused before the evaluation starts."""
    repo_id = config.eval.recording_repo_id
    target = Target(BESIDE_RESULTS, repo_id, push=bool(repo_id), private=config.eval.recording_private)
    dataset = plan_dataset(RecordDatasetOptions(), config.envs, config.trust_remote_code)
    if config.output_dir is not None:
        existing_dataset(config.output_dir.absolute() / target.root, dataset)
    check_hub(target)
    return RecordingPlan(dataset, target)


def record_run(
    result: RunResult, plan: RecordingPlan, listener: RecordingListener | None = None
) -> RecordedDataset | None:
    """Write a run's episodes as a dataset, and upload it if that is asked for; None if there is nothing to write."""
    listener = listener or RecordingListener()
    episodes = choose_episodes(result, plan.dataset, plan.successes)
    if not episodes:
        listener.nothing_to_record(result)
        return None
    target = replace(plan.target, root=result.path.absolute() / plan.target.root)
    with listener.writing(result):
        dataset = write_dataset(episodes, plan.dataset, target.root, plan.workers, listener)
    listener.written(dataset)
    if target.push:
        listener.pushed(push(target))
    return dataset
