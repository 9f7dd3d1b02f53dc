"""How a policy for several tasks learns which one it does, as ``--task_vector`` chooses."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from yardarm.config import one_of
from yardarm.errors import UsageError
from yardarm.policies.learned.config import require
from yardarm.policies.processing import TASK_VECTOR, KnownTask, TaskVector, conditioned_features
from yardarm.tasks import BENCHMARKS

__all__ = ["CONDITIONINGS", "TASK_VECTOR", "KnownTask", "TaskVector", "conditioned_features", "make_task_vector"]

logger = logging.getLogger(__name__)

# Groups of Meta-World: a task's place is its place there, whatever the dataset has of them.
META_WORLD = ("mt10", "mt50")
TASKS, TEXT = "tasks", "text"
CONDITIONINGS = (*META_WORLD, TASKS, TEXT)


def make_task_vector(kind: str, instructions: Sequence[str]) -> TaskVector:
    """The step that tells a policy its task, for one that learns from a dataset with these instructions."""
    one_of("--task_vector", kind, CONDITIONINGS)
    words = list(dict.fromkeys(instructions))
    require(bool(words), f"--task_vector={kind}: the dataset has no instructions")
    if kind == TEXT:
        return TaskVector.text(words)
    if kind == TASKS:
        return TaskVector.one_hot([KnownTask(text) for text in words])
    return _of_group(kind, words)


def _of_group(group: str, instructions: Sequence[str]) -> TaskVector:
    tasks = BENCHMARKS.load("metaworld")(task=group).tasks()
    names: dict[str, list[str]] = {}
    for task in tasks:
        names.setdefault(task.instruction, []).append(task.name)
    for text in instructions:
        if text not in names:
            raise UsageError(
                f"--task_vector={group}: no task of {group} has the dataset's instruction '{text}'; "
                f"take --task_vector={TASKS}, which has a place for each of the dataset's instructions"
            )
        if len(names[text]) > 1:
            logger.warning(
                "%s have the same instruction, '%s': the policy cannot tell them apart", " and ".join(names[text]), text
            )
    known = [KnownTask(task.instruction, task.name, trained=False) for task in tasks]
    return TaskVector.one_hot(known).knowing(instructions)
