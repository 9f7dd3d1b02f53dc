"""What the expert would have done in the states that another policy went through: it shows how to come back."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from yardarm.errors import UsageError
from yardarm.policies import Look, Request
from yardarm.policies.scripted import ExpertPolicy
from yardarm.registry import import_object
from yardarm.tasks import EpisodeSpec, TaskSpec

__all__ = ["PLAYED_ACTION", "ExpertLabels", "check_experts"]

# Where the action that was played goes, if `action` is the expert's.
PLAYED_ACTION = "played_action"


class ExpertLabels:
    """The expert of one episode, asked in each of its states."""

    inputs = ExpertPolicy.wants.inputs

    def __init__(self, episode: EpisodeSpec) -> None:
        self._policy = ExpertPolicy()
        self._episode, self._state = episode, self._policy.start(episode)

    def action(self, look: Look) -> np.ndarray:
        """What it does there."""
        (chunk,) = self._policy.infer([Request(self._episode, self._state, [look])])
        action: np.ndarray = chunk.actions[0]
        return action


def check_experts(tasks: Iterable[TaskSpec]) -> None:
    """Refuse tasks without an expert that can be asked in any state."""
    for name, expert in {task.benchmark: task.env.expert for task in tasks}.items():
        if not expert:
            raise UsageError(f"--dataset.labels=expert: {name} has no expert")
        if getattr(import_object(expert), "plans_ahead", False):
            raise UsageError(
                f"--dataset.labels=expert: the expert of {name} plans an episode at its beginning; it does not know "
                "what to do in states that others brought about"
            )
