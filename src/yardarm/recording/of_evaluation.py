"""An evaluation's episodes as a dataset beside its results: ``--eval.recording``."""

from __future__ import annotations

from pathlib import Path

from yardarm.evaluation import EvalConfig
from yardarm.recording.config import RecordDatasetOptions, Target
from yardarm.recording.hub import check_hub, push
from yardarm.recording.ledger import begun
from yardarm.recording.listener import RecordingListener
from yardarm.recording.recipe import Recipe, make_recipe
from yardarm.recording.recorder import Recording, record
from yardarm.recording.takes import takes_of
from yardarm.results import RunResult

__all__ = ["record_evaluation", "recording_of"]


def recording_of(config: EvalConfig) -> Recipe:
    """What will be recorded; what cannot be is refused before the evaluation starts."""
    recipe = make_recipe(RecordDatasetOptions(), config.envs, config.trust_remote_code)
    target = _target(config, config.output_dir or Path())
    if config.output_dir is not None:
        begun(target.root, recipe)
    check_hub(target)
    return recipe


def record_evaluation(
    config: EvalConfig, recipe: Recipe, result: RunResult, listener: RecordingListener | None = None
) -> Recording | None:
    """Record all episodes that came to an end, and upload them if that is asked for; None if there are none."""
    takes, target = takes_of(result, recipe), _target(config, result.path)
    if not takes:
        return None
    recording = record(takes, recipe, target.root, listener=listener)
    if target.push:
        push(target)
    return recording


def _target(config: EvalConfig, output_dir: Path) -> Target:
    repo_id = config.eval.recording_repo_id
    return Target(output_dir.absolute() / "recordings", repo_id, bool(repo_id), config.eval.recording_private)
