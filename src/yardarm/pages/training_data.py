"""The data of the training page, from the training's manifest and the points of its learning curve."""

from __future__ import annotations

import json
import math
import posixpath
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

from yardarm.errors import UsageError, one_line
from yardarm.pages.run_data import json_safe, rounded
from yardarm.pages.thinning import thinned
from yardarm.results import TrainingManifest

__all__ = ["StoredTraining", "training_data", "training_line"]

# More lines cannot be distinguished; each evaluation's page has all of its tasks.
MOST_TASKS = 16
MOST_PARTS = 8
# Speed is estimated from the newest points, because the machine's other load changes.
RECENT_POINTS = 10
# Enough points to include evaluations and checkpoints, which also take time.
PACE_POINTS = 100
# Above this share of time spent waiting for data, the page suggests more workers.
MUCH_WAITING = 0.2
COURSE = ("lr", "grad_norm", "samples_per_s")
SCORE = ("successes", "episodes", "errors", "rate", "low", "high")

Point = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoredTraining:
    """A training as it is on disk now."""

    name: str
    path: Path
    status: str
    """Running, finished or interrupted; checked, not just what the manifest says."""
    manifest: TrainingManifest
    points: Sequence[Point]

    def of_kind(self, kind: str) -> list[Point]:
        """The points of one kind."""
        return [point for point in self.points if point["kind"] == kind]

    @property
    def step(self) -> int:
        """The current step; the curve may be ahead of the manifest."""
        return max([self.manifest.step, *(point["step"] for point in self.of_kind("train")[-1:])])


def _reporting_damage(show: Callable[[StoredTraining], dict[str, Any]]) -> Callable[[StoredTraining], dict[str, Any]]:
    @wraps(show)
    def shown(training: StoredTraining) -> dict[str, Any]:
        try:
            return show(training)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise UsageError(
                f"{training.path} cannot be shown ({one_line(error)}); it is damaged, or from another version"
            ) from error

    return shown


@_reporting_damage
def training_line(training: StoredTraining) -> dict[str, Any]:
    """The summary of a training in the list."""
    manifest = training.manifest
    evaluations = _evaluations(training)
    finished = [own for own in evaluations if own["status"] == "finished"]
    newest = training.of_kind("train")[-1:]
    return {
        "name": training.name,
        "status": training.status,
        "policy": manifest.policy.type or "",
        "dataset": manifest.dataset.name,
        "step": training.step,
        "steps": manifest.steps,
        "loss": _known(newest[0]["loss"]) if newest else None,
        "evaluation": {name: finished[-1][name] for name in ("step", *SCORE)} if finished else None,
        "evaluating": [own["run"] for own in evaluations if own["status"] == "running"],
        "started": manifest.started,
        "wall_s": manifest.wall_s,
        # Changes with every point, so that open pages are updated.
        "points": len(training.points),
    }


@_reporting_damage
def training_data(training: StoredTraining) -> dict[str, Any]:
    """Everything the page of a training shows, finished or not."""
    manifest, train = training.manifest, training.of_kind("train")
    evaluations, losses = _evaluations(training), _losses(train)
    return {
        **training_line(training),
        "path": str(training.path),
        "policy": json_safe(manifest.policy.to_json()),
        "dataset": json_safe(manifest.dataset.to_json()),
        "now": _now(training, train),
        "warnings": _warnings(training, train),
        "losses": losses,
        "train": _curve(train, [*losses, *COURSE]),
        "validation": _curve(training.of_kind("validation"), losses),
        "evaluations": evaluations,
        "confidence": next((own["confidence"] for own in reversed(evaluations) if own["confidence"]), None),
        "tasks": _tasks(evaluations),
        "saved": _saved(training, evaluations),
        "commands": _commands(training),
        "made_with": _made_with(manifest),
    }


def _evaluations(training: StoredTraining) -> list[dict[str, Any]]:
    """The evaluations by step; the newest record of a step counts. If the training has ended, none is running."""
    newest = {point["step"]: point for point in training.of_kind("evaluation")}
    shown = []
    for step, point in sorted(newest.items()):
        status = point["status"]
        if status == "running" and training.status != "running":
            status = "interrupted"
        shown.append(
            {
                "step": step,
                "status": status,
                "run": posixpath.normpath(posixpath.join(training.name, point["run"])),
                "confidence": point.get("confidence"),
                "problem": point.get("problem"),
                "tasks": {name: _score(own) for name, own in (point.get("tasks") or {}).items()},
                **_score(point),
            }
        )
    return shown


def _score(content: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _known(content.get(name)) for name in SCORE}


def _tasks(evaluations: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The number of tasks, and those that get their own line: if there are several, but not too many."""
    names = list(dict.fromkeys(name for own in evaluations for name in own["tasks"]))
    drawn = names if 1 < len(names) <= MOST_TASKS else []
    return {"count": len(names), "drawn": drawn}


def _saved(training: StoredTraining, evaluations: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The steps with a checkpoint or an evaluation, newest first; evaluations are given by position."""
    paths = {point["step"]: point["path"] for point in training.of_kind("checkpoint")}
    places = {own["step"]: place for place, own in enumerate(evaluations)}
    return [
        {"step": step, "checkpoint": paths.get(step), "evaluation": places.get(step)}
        for step in sorted({*paths, *places}, reverse=True)
    ]


def _now(training: StoredTraining, train: Sequence[Point]) -> dict[str, Any]:
    """The current loss, speed and remaining time."""
    if not train:
        return {}
    recent = train[-RECENT_POINTS:]
    newest = {name: _known(train[-1].get(name)) for name in ("loss", "epoch", "samples", "lr", "grad_norm")}
    means = {name: _mean([point.get(name) for point in recent]) for name in ("samples_per_s", "data_s", "update_s")}
    return {**newest, **means, "seconds_left": _seconds_left(training, train)}


def _seconds_left(training: StoredTraining, train: Sequence[Point]) -> float | None:
    """The remaining time at the pace of the newest points; each resumed session has its own clock."""
    if training.status != "running":
        return None
    own = list(train[-PACE_POINTS:])
    for place in range(len(own) - 1, 0, -1):
        if own[place]["elapsed_s"] <= own[place - 1]["elapsed_s"]:
            own = own[place:]
            break
    first, last = own[0], own[-1]
    steps = last["step"] - first["step"]
    pace = (last["elapsed_s"] - first["elapsed_s"]) / steps if steps else last["data_s"] + last["update_s"]
    return rounded(pace * max(0, training.manifest.steps - training.step))


def _warnings(training: StoredTraining, train: Sequence[Point]) -> list[str]:
    """Warnings for the top of the page."""
    warnings = []
    if train and _known(train[-1]["loss"]) is None:
        finite = [point["step"] for point in train if _known(point["loss"]) is not None]
        since = f"after step {finite[-1]:,}" if finite else "from the first step"
        warnings.append(f"The loss is not a number {since}: the training has diverged.")
    now = _now(training, train)
    waited, computed = now.get("data_s"), now.get("update_s")
    if training.status == "running" and waited and computed and waited / (waited + computed) > MUCH_WAITING:
        share = 100 * waited / (waited + computed)
        warnings.append(f"Training waits for data {share:.0f}% of the time; more --num_workers may speed it up.")
    return warnings


def _losses(train: Sequence[Point]) -> list[str]:
    """The loss, and its parts if there are several."""
    parts = list(dict.fromkeys(name for point in train for name in point.get("parts") or {}))
    return ["loss", *(f"parts.{name}" for name in parts[:MOST_PARTS] if len(parts) > 1)]


def _curve(points: Sequence[Point], names: Sequence[str]) -> dict[str, Any]:
    """The named values of the points over steps; ``parts.NAME`` is a part of the loss."""
    return thinned([point["step"] for point in points], {name: [_value(own, name) for own in points] for name in names})


def _value(point: Point, name: str) -> float | None:
    head, _, part = name.partition(".")
    return _known((point.get(head) or {}).get(part) if part else point.get(head))


def _commands(training: StoredTraining) -> dict[str, str | None]:
    """The commands that resume the training and evaluate its newest checkpoint."""
    resume = ["yardarm", "train", f"--output_dir={training.path}", "--resume=true"]
    checkpoints = training.of_kind("checkpoint")
    return {
        "resume": shlex.join(resume) if training.status != "finished" and checkpoints else None,
        "evaluate": _evaluate(training, checkpoints[-1]["path"]) if checkpoints else None,
    }


def _evaluate(training: StoredTraining, checkpoint: str) -> str:
    words = ["yardarm", "eval", f"--policy.path={training.path / checkpoint / 'pretrained_model'}"]
    env = training.manifest.config.get("env") or {}
    known = {name: env[name] for name in ("type", "task") if isinstance(env.get(name), str) and env[name]}
    return shlex.join(words + [f"--env.{name}={value}" for name, value in known.items()])


def _made_with(manifest: TrainingManifest) -> dict[str, Any]:
    newest = manifest.newest
    return {
        "command": shlex.join(newest.command),
        "config": json.dumps(manifest.config, indent=2, ensure_ascii=False),
        "versions": newest.versions,
        "machine": json_safe(newest.machine.to_json() if newest.machine else {}),
        "git_commit": newest.git_commit,
    }


def _mean(values: Sequence[Any]) -> float | None:
    known = [value for value in values if _known(value) is not None]
    return rounded(sum(known) / len(known)) if known else None


def _known(value: Any) -> Any:
    """A finite number, or None."""
    return value if isinstance(value, int | float) and math.isfinite(value) else None
