"""Whole trainings on disk, made up in milliseconds: what the viewer reads, without a network."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.report.runs import tasks_of, written
from yardarm.files import write_json
from yardarm.results import Curve, TrainingFolder
from yardarm.stats import wilson

STARTED = "2026-11-16T09:17:43+00:00"
MANIFEST = {
    "format": 1,
    "status": "finished",
    "started": STARTED,
    "updated": STARTED,
    "wall_s": 720.0,
    "policy": {"type": "act", "parameters": 51_597_232},
    "dataset": {"name": "metaworld/reach", "root": "data/reach", "episodes": 100, "frames": 6500},
    "config": {"env": {"type": "metaworld", "task": "reach-v3,push-v3"}, "batch_size": 8},
    "versions": {"yardarm": "0.1.0", "torch": "2.7.1"},
    "machine": {"cpu": "a CPU", "usable_cores": 2},
    "git_commit": None,
    "command": ["yardarm", "train", "--policy.type=act"],
}


def train_point(step: int, loss: float | None = 0.5, **more: Any) -> dict[str, Any]:
    """A point of the training's own loss."""
    return {
        "kind": "train",
        "step": step,
        "loss": loss,
        "parts": {"l1_loss": loss and 0.9 * loss, "kld_loss": loss and 0.1 * loss},
        "grad_norm": 3.2,
        "lr": 1e-5,
        "epoch": 8 * step / 6500,
        "samples": 8 * step,
        "samples_per_s": 130.0,
        "data_s": 0.002,
        "update_s": 0.058,
        "elapsed_s": 0.06 * step,
        **more,
    }


def evaluation_point(step: int, outcomes: Mapping[str, str], status: str = "finished", **more: Any) -> dict[str, Any]:
    """An evaluation of some tasks, of which each episode is a letter: s(uccess) or f(ailure)."""
    tasks = {name: _score(letters) for name, letters in outcomes.items()}
    common = {"kind": "evaluation", "step": step, "run": f"eval/step_{step:06d}", "status": status}
    if status != "finished":
        return {**common, "problem": None, **more}
    return {**common, "confidence": 0.95, "problem": None, "tasks": tasks, **_score("".join(outcomes.values())), **more}


def checkpoint_point(step: int) -> dict[str, Any]:
    """A checkpoint that was written."""
    return {"kind": "checkpoint", "step": step, "path": f"checkpoints/{step:06d}"}


def _score(letters: str) -> dict[str, Any]:
    successes, episodes = letters.count("s"), len(letters)
    interval = wilson(successes, episodes)
    rate = successes / episodes
    return {"successes": successes, "episodes": episodes, "rate": rate, "low": interval.low, "high": interval.high}


def write_training(folder: Path, points: Iterable[Mapping[str, Any]], steps: int = 1000, **manifest: Any) -> Path:
    """Write a training's folder; the rest goes into the manifest as it is."""
    training = TrainingFolder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    append_points(folder, points)
    write_json(training.manifest, {**MANIFEST, "step": steps, "steps": steps, **manifest})
    return folder


def append_points(folder: Path, points: Iterable[Mapping[str, Any]]) -> None:
    """Have a training come further."""
    curve = Curve(TrainingFolder(folder).journal, upto=10**9)
    for point in points:
        curve.append(point)
    curve.close()


def usual_points(upto: int, every: int = 100) -> Iterator[dict[str, Any]]:
    """A training that goes well: a loss that falls, a validation now and then."""
    for step in range(every, upto + 1, every):
        loss = 0.05 + 2.0 * math.exp(-step / 400)
        yield train_point(step, loss)
        if step % (5 * every) == 0:
            yield {"kind": "validation", "step": step, "loss": 1.1 * loss, "parts": {}, "samples": 64}


def with_evaluation(folder: Path, step: int, outcomes: Mapping[str, str]) -> Sequence[dict[str, Any]]:
    """Write the run that evaluates a step, and give the points that tell of it."""
    written(folder / f"eval/step_{step:06d}", tasks_of(outcomes))
    return [checkpoint_point(step), evaluation_point(step, outcomes)]
