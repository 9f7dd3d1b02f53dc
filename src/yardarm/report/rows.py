"""The rows of a run's results: each task, each group of several tasks, and the whole run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from yardarm.comparison import Pairwise
from yardarm.results import Counts, EpisodeRecord, Rate, RunResult, StoredResult, Uncertainty
from yardarm.stats import Interval

__all__ = ["ResultRow", "Section", "compared_tasks", "overall", "policy_name", "sections"]

Records = Sequence[EpisodeRecord]


@dataclass(frozen=True, slots=True)
class ResultRow:
    """One task, or several together: counts, the interval of the success rate, and the episodes."""

    name: str
    counts: Counts
    interval: Interval
    episodes: tuple[EpisodeRecord, ...]
    key: tuple[str, str, str] = ("", "", "")
    """Identifies a task across runs; empty for several tasks."""

    @property
    def fraction(self) -> str:
        """Successes/episodes."""
        return f"{self.counts.successes}/{self.counts.episodes}"

    @property
    def mean_steps(self) -> float | None:
        """The mean length of episodes, without errors."""
        steps = [record.steps for record in self.episodes if record.status != "error"]
        return sum(steps) / len(steps) if steps else None


@dataclass(frozen=True, slots=True)
class Section:
    """The tasks of a group, and the whole group if it differs from its one task and from the run."""

    name: str
    tasks: tuple[ResultRow, ...]
    whole: ResultRow | None


def sections(result: RunResult) -> list[Section]:
    """The groups of a run, in the run's order."""
    groups = result.groups()
    own = []
    for name, tasks in groups.items():
        rows = tuple(_of_task(task.task.name, task.episodes, result, task.task.key()) for task in tasks)
        is_own_row = len(tasks) > 1 and len(groups) > 1
        whole = _of_several(name, [task.episodes for task in tasks], result.uncertainty) if is_own_row else None
        own.append(Section(name, rows, whole))
    return own


def overall(result: RunResult) -> ResultRow:
    """All tasks together, each episode counted once."""
    return _of_several("all", result.by_task(), result.uncertainty)


def policy_name(run: StoredResult) -> str:
    """The policy's public name: its Hub repository, or its id; never a path on this machine."""
    policy = run.manifest.newest.policy
    name = policy and (policy.path if policy.commit else policy.id)
    return name or run.manifest.plan.policy or "policy"


def compared_tasks(pair: Pairwise) -> dict[str, str]:
    """Names for the tasks of a comparison, without their benchmark if it is the same for all."""
    tasks = [row.task for row in pair.tasks]
    one = len({task.partition("/")[0] for task in tasks}) == 1
    return {task: task.partition("/")[2] or task if one else task for task in tasks}


def _of_task(name: str, records: Records, result: RunResult, key: tuple[str, str, str]) -> ResultRow:
    counts = Counts.of(records)
    return ResultRow(name, counts, result.uncertainty.of_task(counts.of_task), tuple(records), key)


def _of_several(name: str, tasks: Sequence[Records], uncertainty: Uncertainty) -> ResultRow:
    rate = Rate.over(tasks, uncertainty)
    return ResultRow(name, rate.counts, rate.interval, tuple(record for task in tasks for record in task))
