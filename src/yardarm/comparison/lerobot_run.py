"""Reads an ``eval_info.json``: LeRobot's own, which has neither seeds nor names, or a copy of Yardarm's, which does."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yardarm.comparison.outcomes import EpisodeName, Outcome, RunOutcomes
from yardarm.errors import UsageError
from yardarm.tasks import BENCHMARKS, FIRST_SEED, TaskSpec

__all__ = ["LerobotAssumptions", "read_eval_info"]

LIBERO = "libero"


@dataclass(frozen=True, slots=True)
class LerobotAssumptions:
    """What LeRobot's file does not say: the ``--seed`` and the ``--eval.batch_size`` of its command."""

    seed: int = FIRST_SEED
    batch_size: int | None = None


def read_eval_info(path: Path, name: str, assumed: LerobotAssumptions) -> RunOutcomes:
    """Every episode of every task; a task that was selected twice counts once."""
    tasks = _tasks_of(path)
    outcomes: dict[EpisodeName, Outcome] = {}
    inferred = False
    for task in tasks:
        metrics = task["metrics"]
        known = "seeds" in metrics and "episode_indices" in metrics
        inferred |= not known
        label = _label(task)
        first_batch = None if known or not label.startswith(f"{LIBERO}/") else assumed.batch_size or 1
        for place, success in enumerate(metrics["successes"]):
            index = int(metrics["episode_indices"][place]) if known else place
            seed = int(metrics["seeds"][place]) if known else assumed.seed + place
            pairable = first_batch is None or index < first_batch
            outcomes[EpisodeName(label, index, seed)] = Outcome(bool(success), pairable=pairable)
        for error in metrics.get("errors", ()):
            outcomes[EpisodeName(label, int(error["episode_index"]), int(error["seed"]))] = Outcome(None)
    notes = _notes(path, outcomes, assumed) if inferred else ()
    return RunOutcomes(name, path, outcomes, records_starts=False, notes=notes)


def _tasks_of(path: Path) -> list[dict[str, Any]]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        tasks = content["per_task"]
        for task in tasks:
            task["task_group"], task["task_id"], task["metrics"]["successes"]
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    except (KeyError, TypeError) as error:
        raise UsageError(f"{path} is not an eval_info.json of LeRobot's: it lacks {error}") from error
    if not any(task["metrics"]["successes"] for task in tasks):
        raise UsageError(f"{path} has no episodes")
    return tasks


def _notes(path: Path, outcomes: dict[EpisodeName, Outcome], assumed: LerobotAssumptions) -> tuple[str, ...]:
    notes = [
        f"{path}: LeRobot does not write seeds down; inferred as {assumed.seed} + the episode's index, as by --seed="
        f"{assumed.seed} (say otherwise with --lerobot.seed)"
    ]
    if any(not outcome.pairable for outcome in outcomes.values()):
        size = f"--eval.batch_size={assumed.batch_size}" if assumed.batch_size else "unknown (--lerobot.batch_size)"
        notes.append(
            f"{path}: in LeRobot's LIBERO only the first batch begins where its seeds say, so only that is paired; its "
            f"size: {size}{'' if assumed.batch_size else ', so one episode of each task'}"
        )
    return tuple(notes)


def _label(task: dict[str, Any]) -> str:
    """The task's full name; LeRobot's file has a group and a number, which the benchmarks' catalogues know."""
    group, number = str(task["task_group"]), int(task["task_id"])
    for benchmark in BENCHMARKS.names():
        for spec in _catalogue(benchmark):
            if task.get("task_name", spec.name) == spec.name and (
                (spec.group, spec.index) == (group, number) or spec.name == group
            ):
                return f"{benchmark}/{spec.name}"
    return f"{group}/{task.get('task_name', number)}"


def _catalogue(benchmark: str) -> tuple[TaskSpec, ...]:
    try:
        return tuple(BENCHMARKS.load(benchmark).catalogue())
    except UsageError:
        return ()  # a plugin that cannot be loaded here knows none of these tasks
