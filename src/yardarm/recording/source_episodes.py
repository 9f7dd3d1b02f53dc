"""Which episodes of a run become episodes of a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from yardarm.recording.dataset_plan import DatasetPlan
from yardarm.results import EpisodeRecord, RunFolder, RunResult, TaskResult
from yardarm.tasks import EpisodeSpec

__all__ = ["SourceEpisode", "choose_episodes", "distinct_tasks"]


@dataclass(frozen=True, slots=True)
class SourceEpisode:
    """An episode of a run that becomes an episode of a dataset."""

    folder: RunFolder
    episode: EpisodeSpec
    """With the task as it is looked at."""
    record: EpisodeRecord

    @property
    def instruction(self) -> str:
        """What the robot was to do, in words."""
        return self.episode.task.instruction


def choose_episodes(result: RunResult, plan: DatasetPlan, successes: int | None = None) -> list[SourceEpisode]:
    """A run's episodes in the planned order, whatever order they ended in; or the first `successes` of each task.

    What ended in an error is not among them.
    """
    folder = RunFolder(result.path)
    return [
        SourceEpisode(folder, EpisodeSpec(plan.tasks[key.benchmark, key.task], key.index, key.seed), record)
        for task in distinct_tasks(result)
        for record in _chosen(task, successes)
        for key in [record.key]
    ]


def _chosen(task: TaskResult, successes: int | None) -> Sequence[EpisodeRecord]:
    if successes is None:
        return [record for record in task.episodes if record.status != "error"]
    return [record for record in task.episodes if record.success][:successes]


def distinct_tasks(result: RunResult) -> list[TaskResult]:
    """Each task once, though it may have been selected by several groups."""
    first: dict[tuple[str, str, str], TaskResult] = {}
    for task in result.tasks:
        first.setdefault(task.task.key(), task)
    return list(first.values())
