"""Selects the tasks to run from benchmarks."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.envs.probing import find_tasks
from yardarm.errors import ConsentNeeded, UsageError
from yardarm.tasks import BenchmarkConfig, TaskSpec

__all__ = ["select_tasks"]


def select_tasks(envs: Sequence[BenchmarkConfig], trust_remote_code: bool = False) -> tuple[TaskSpec, ...]:
    """The tasks of all benchmarks, in order; foreign code runs only with consent."""
    for env in envs:
        code = env.foreign_code()
        if code and not trust_remote_code:
            raise ConsentNeeded(code)
    tasks = [task for env in envs for task in find_tasks(env)]
    _check_names(tasks)
    # A selection given twice counts once; a task in two groups counts in each.
    return tuple({(task.group, task.index, task.key()): task for task in tasks}.values())


def _check_names(tasks: Sequence[TaskSpec]) -> None:
    """Raise if a task is selected with two sets of options: results are stored by benchmark and task name."""
    known: dict[tuple[str, str], TaskSpec] = {}
    for task in tasks:
        other = known.setdefault((task.benchmark, task.name), task)
        if _options(task) != _options(other):
            raise UsageError(
                f"'{task.name}' of {task.benchmark} is selected twice, with different options; evaluate them separately"
            )


def _options(task: TaskSpec) -> tuple[str, str, str]:
    return task.env.options_hash, task.env.python, task.instruction
