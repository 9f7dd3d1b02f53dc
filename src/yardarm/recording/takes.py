"""Which episodes of a run become episodes of a dataset, and how there come to be enough of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from yardarm.evaluation import EvaluationListener, evaluate
from yardarm.recording.config import RecordConfig
from yardarm.recording.recipe import Recipe
from yardarm.results import EpisodeRecord, RunFolder, RunResult, TaskResult
from yardarm.tasks import EpisodeSpec

__all__ = ["MOST_TRIES", "Take", "play_enough", "takes_of", "too_few"]

# Successes are looked for in at most so many times as many episodes.
MOST_TRIES = 10


@dataclass(frozen=True, slots=True)
class Take:
    """An episode of a run that becomes an episode of a dataset."""

    folder: RunFolder
    episode: EpisodeSpec
    """With the task as it is looked at."""
    record: EpisodeRecord

    @property
    def instruction(self) -> str:
        """What the robot was to do, in words."""
        return self.episode.task.instruction


def takes_of(result: RunResult, recipe: Recipe, successes: int | None = None) -> list[Take]:
    """A run's episodes in the planned order, whatever order they ended in; or the first so many successes of each task.

    What ended in an error is not among them.
    """
    return [
        Take(RunFolder(result.path), EpisodeSpec(recipe.tasks[key.benchmark, key.task], key.index, key.seed), record)
        for task in _distinct(result)
        for record in _chosen(task, successes)
        for key in [record.key]
    ]


def _chosen(task: TaskResult, successes: int | None) -> Sequence[EpisodeRecord]:
    if successes is None:
        return [record for record in task.episodes if record.status != "error"]
    return [record for record in task.episodes if record.success][:successes]


def _distinct(result: RunResult) -> list[TaskResult]:
    """Each task once, though it may have been selected by several groups."""
    first: dict[tuple[str, str, str], TaskResult] = {}
    for task in result.tasks:
        first.setdefault(task.task.key(), task)
    return list(first.values())


def play_enough(config: RecordConfig, listener: EvaluationListener | None = None) -> RunResult:
    """Play what is to be recorded; if that is successes, more episodes until each task has enough, or the most."""
    wanted = config.options.n_episodes
    result = evaluate(config.evaluation, listener)
    played = wanted
    while config.options.only_successes and played < MOST_TRIES * wanted and too_few(result, wanted):
        played = _more(result, wanted, played)
        options = replace(config.evaluation.eval, n_episodes=played)
        result = evaluate(replace(config.evaluation, eval=options, output_dir=result.path), listener)
    return result


def too_few(result: RunResult, wanted: int) -> dict[str, int]:
    """The tasks that have not been solved often enough, and how often they were."""
    counts = {task.task.name: task.counts.successes for task in _distinct(result)}
    return {name: successes for name, successes in counts.items() if successes < wanted}


def _more(result: RunResult, wanted: int, played: int) -> int:
    """How many episodes will probably do, by the task that is solved most seldom; at most twice as many as now."""
    rate = (min(too_few(result, wanted).values()) + 0.5) / (played + 1)
    return min(max(math.ceil(wanted / rate), played + 1), 2 * played, MOST_TRIES * wanted)
