"""From benchmarks to the tasks that will run."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.envs.probing import find_tasks
from yardarm.errors import ConsentNeeded, UsageError
from yardarm.tasks import BenchmarkConfig, TaskSpec

__all__ = ["select_tasks"]


def select_tasks(envs: Sequence[BenchmarkConfig], trust_remote_code: bool = False) -> tuple[TaskSpec, ...]:
    """The tasks of all benchmarks, in order; code from elsewhere is run only with consent."""
    for env in envs:
        code = env.foreign_code()
        if code and not trust_remote_code:
            raise ConsentNeeded(code)
    tasks = [task for env in envs for task in find_tasks(env)]
    _check_names(tasks)
    # The same selection twice is the same tasks once; a task that is in two groups counts in each.
    return tuple({(task.group, task.index, task.key()): task for task in tasks}.values())


def _check_names(tasks: Sequence[TaskSpec]) -> None:
    """Results are filed under benchmark and task: one task with two sets of options would be two under one name."""
    known: dict[tuple[str, str], TaskSpec] = {}
    for task in tasks:
        other = known.setdefault((task.benchmark, task.name), task)
        if (other.env.options_hash, other.env.python) != (task.env.options_hash, task.env.python):
            raise UsageError(
                f"'{task.name}' of {task.benchmark} is selected twice, with other options: evaluate each by itself"
            )
