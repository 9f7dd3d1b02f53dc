"""Reads an ``eval_info.json``: LeRobot's, which has no seeds or task names, or a copy of Yardarm's, which has both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from yardarm.comparison.caveats import about_early_stop, about_missing_episodes
from yardarm.comparison.outcomes import EpisodeName, EpisodeOutcome, RunOutcomes
from yardarm.contents import anything, count, list_of, map_of, optional, read_json, record, text, whole
from yardarm.errors import UsageError
from yardarm.results import StoppingRecord
from yardarm.tasks import BENCHMARKS, FIRST_SEED, TaskSpec

__all__ = ["LerobotAssumptions", "read_eval_info"]

LIBERO = "libero"


def outcome(value: Any, place: str) -> None:
    """Check a success flag: true or false, or 1 or 0."""
    if not isinstance(value, bool | int | float) or value not in (0, 1):
        raise ValueError(f"{place} must be true or false, got {value!r}")


METRICS = record(
    {"successes": list_of(outcome)},
    {
        "episode_indices": list_of(count),
        "seeds": list_of(whole),
        "errors": list_of(record({"episode_index": count, "seed": whole})),
    },
)


def metrics(value: Any, place: str) -> None:
    """Check a task's metrics: if there are seeds or indices, every episode must have one."""
    METRICS(value, place)
    for name in ("episode_indices", "seeds"):
        if len(value.get(name, value["successes"])) < len(value["successes"]):
            raise ValueError(f"{place}.{name} has {len(value[name])} entries for {len(value['successes'])} episodes")


# Other fields are not checked: LeRobot writes NaN for the mean of no values.
EVAL_INFO = record(
    {"per_task": list_of(record({"task_group": text, "task_id": whole, "metrics": metrics}, {"task_name": text}))},
    {"overall": optional(record({}, {"stopping": optional(map_of(anything)), "planned_episodes": count}))},
)


@dataclass(frozen=True, slots=True)
class LerobotAssumptions:
    """What LeRobot's file does not record: the ``--seed`` and ``--eval.batch_size`` of its command."""

    seed: int = FIRST_SEED
    batch_size: int | None = None


def read_eval_info(path: Path, name: str, assumed: LerobotAssumptions, allow_unfinished: bool = False) -> RunOutcomes:
    """Read all episodes of all tasks; a task that was selected twice counts once."""
    try:
        content = read_json(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    try:
        EVAL_INFO(content, "")
        return _read(content, path, name, assumed, allow_unfinished)
    except ValueError as error:
        raise UsageError(f"{path} is not an eval_info.json of LeRobot or Yardarm ({error})") from error


def _read(
    content: dict[str, Any], path: Path, name: str, assumed: LerobotAssumptions, allow_unfinished: bool
) -> RunOutcomes:
    outcomes: dict[EpisodeName, EpisodeOutcome] = {}
    for task in content["per_task"]:
        outcomes.update(_episodes(task, assumed))
    if not outcomes:
        raise UsageError(f"{path} has no episodes")
    overall = content.get("overall") or {}
    planned, said = overall.get("planned_episodes", len(outcomes)), overall.get("stopping")
    stopping = StoppingRecord.from_json(said, "overall.stopping") if said else None
    notes = list(about_early_stop(path, stopping))
    if len(outcomes) < planned and not (stopping and stopping.decision):
        notes += about_missing_episodes(
            path, len(outcomes), planned, allowed=allow_unfinished, remedy="finish it first"
        )
    if not all(_knows_seeds(task) for task in content["per_task"]):
        notes += _inferred(path, outcomes, assumed)
    return RunOutcomes(name, path, outcomes, notes=tuple(notes))


def _knows_seeds(task: dict[str, Any]) -> bool:
    return "seeds" in task["metrics"] and "episode_indices" in task["metrics"]


def _episodes(task: dict[str, Any], assumed: LerobotAssumptions) -> Iterator[tuple[EpisodeName, EpisodeOutcome]]:
    metrics, label, known = task["metrics"], _label(task), _knows_seeds(task)
    first_batch = None if known or not label.startswith(f"{LIBERO}/") else assumed.batch_size or 1
    for place, success in enumerate(metrics["successes"]):
        index = metrics["episode_indices"][place] if known else place
        seed = metrics["seeds"][place] if known else assumed.seed + place
        pairable = first_batch is None or index < first_batch
        yield EpisodeName(label, index, seed), EpisodeOutcome(bool(success), pairable=pairable)
    for error in metrics.get("errors", ()):
        yield EpisodeName(label, error["episode_index"], error["seed"]), EpisodeOutcome(None)


def _inferred(path: Path, outcomes: dict[EpisodeName, EpisodeOutcome], assumed: LerobotAssumptions) -> Iterator[str]:
    yield (
        f"{path}: LeRobot does not record seeds; assumed to be {assumed.seed} + the episode's index, as with --seed="
        f"{assumed.seed} (`yardarm compare --lerobot.seed=…` changes that)"
    )
    if any(not outcome.pairable for outcome in outcomes.values()):
        size = (
            f"--eval.batch_size={assumed.batch_size}"
            if assumed.batch_size
            else "unknown (`yardarm compare --lerobot.batch_size=…` sets it)"
        )
        yield (
            f"{path}: in LeRobot's LIBERO only the first batch starts where its seeds say, so only that one is paired; "
            f"its size: {size}{'' if assumed.batch_size else ', so one episode per task'}"
        )


def _label(task: dict[str, Any]) -> str:
    """The task's full name; LeRobot's file has a group and a number, which the benchmarks' catalogues resolve."""
    group, number = task["task_group"], task["task_id"]
    for benchmark in BENCHMARKS.names():
        for spec in _catalogue(benchmark):
            if task.get("task_name", spec.name) == spec.name and (
                (spec.group, spec.index) == (group, number) or spec.name == group
            ):
                return f"{benchmark}/{spec.name}"
    return f"{group}/{task.get('task_name', number)}"


@cache
def _catalogue(benchmark: str) -> tuple[TaskSpec, ...]:
    try:
        return tuple(BENCHMARKS.load(benchmark).catalogue())
    except UsageError:
        return ()  # a plugin that cannot be loaded has none of these tasks
