"""The expert that a task brings along."""

from __future__ import annotations

import numpy as np
import pytest

from yardarm.errors import UsageError
from yardarm.evaluation.preflight import check_policy_fits
from yardarm.policies import Look, Request
from yardarm.policies.scripted import ExpertPolicy
from yardarm.tasks import ActionSpec, EnvSpec, EpisodeSpec, Feature, TaskSpec

STATE = "observation.environment_state"


class Mover:
    """Goes where the episode's seed says, too fast."""

    def __init__(self, episode: EpisodeSpec) -> None:
        self._goal = episode.seed

    def actions(self, state: np.ndarray) -> np.ndarray:
        return np.array([[self._goal - state[0]], [0.5]])


def task_with(expert: str) -> TaskSpec:
    env = EnvSpec("nowhere:Simulator", {STATE: Feature((1,), "float64")}, ActionSpec(1, -1.0, 1.0), expert=expert)
    return TaskSpec("new", "new", 0, "go", "Go.", 10, 30, env)


def test_a_new_world_brings_its_expert_along() -> None:
    policy, task = ExpertPolicy(), task_with(f"{__name__}:Mover")
    check_policy_fits(policy, policy.traits, [task])
    episode = EpisodeSpec(task, 0, 7)
    (chunk,) = policy.infer([Request(episode, policy.start(episode), [Look(0, {STATE: np.array([2.0])})])])
    assert chunk.actions.tolist() == [[1.0], [0.5]]


def test_a_task_without_an_expert_is_refused() -> None:
    with pytest.raises(UsageError, match="tasks with an expert of their own, which 'go' of new has not"):
        check_policy_fits(ExpertPolicy(), ExpertPolicy.traits, [task_with("")])
