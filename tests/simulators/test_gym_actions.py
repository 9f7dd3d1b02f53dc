"""Gymnasium's action spaces as flat vectors, and back."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st

import yardarm
from yardarm.envs.vector import TaskEnv
from yardarm.errors import UsageError
from yardarm.simulators.gym_actions import describe_action, neutral_action, playable_action
from yardarm.tasks.gym import GymConfig

DISCRETE = [
    spaces.Discrete(3),
    spaces.Discrete(4, start=-1),
    spaces.MultiDiscrete([2, 5]),
    spaces.MultiDiscrete([[2, 3], [4, 5]], start=[[0, 1], [2, 3]]),
    spaces.MultiBinary(3),
    spaces.MultiBinary([2, 2]),
]
SPACES = [*DISCRETE, spaces.Box(-1, 1, (2, 3)), spaces.Box(np.array([0.0, -np.inf]), np.array([1.0, np.inf]))]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_a_sample_comes_back_as_it_was(space: gymnasium.Space[Any]) -> None:
    space.seed(0)
    for _ in range(20):
        sample = space.sample()
        flat = np.asarray(sample, np.float32).ravel()
        assert len(flat) == describe_action(space)["size"]
        assert np.array_equal(playable_action(space, flat), sample)


@pytest.mark.parametrize("space", DISCRETE, ids=str)
@given(data=st.data())
def test_any_numbers_become_a_choice(space: gymnasium.Space[Any], data: st.DataObject) -> None:
    size = describe_action(space)["size"]
    numbers = data.draw(st.lists(st.floats(-1e6, 1e6, width=32), min_size=size, max_size=size))
    assert space.contains(playable_action(space, np.array(numbers, np.float32)))


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_the_neutral_action_is_possible(space: gymnasium.Space[Any]) -> None:
    assert space.contains(neutral_action(space))


def test_equal_bounds_are_given_once() -> None:
    assert describe_action(spaces.Discrete(3)) == {"size": 1, "low": 0, "high": 2, "discrete": True}
    assert describe_action(spaces.MultiDiscrete([2, 5]))["high"] == (1, 4)


def test_other_spaces_are_refused() -> None:
    with pytest.raises(UsageError, match="the action space is Dict"):
        describe_action(spaces.Dict({"a": spaces.Discrete(2)}))


def test_a_policy_balances_a_pole_by_choosing_a_side() -> None:
    def balance(observations: dict[str, np.ndarray]) -> np.ndarray:
        state = observations["observation.state"]
        return (state[:, 2:3] + state[:, 3:4] > 0).astype(float)

    config = GymConfig(task="CartPole-v1", success_reward=1.0, episode_length=60)
    balanced = yardarm.evaluate(balance, config, inputs=["observation.state"], n_episodes=2)
    assert [record.steps for record in balanced.episodes] == [60, 60]
    guessed = yardarm.evaluate("random", config, n_episodes=4)
    assert min(record.steps for record in guessed.episodes) < 60
    assert not guessed.warnings  # a choice is not a saturated action


def test_an_environment_with_choices_can_be_sampled() -> None:
    from yardarm.envs import find_tasks

    env = TaskEnv(find_tasks(GymConfig(task="CartPole-v1", success_reward=1.0))[0])
    assert env.action_space == spaces.MultiDiscrete([2])
    env.reset(seed=1000)
    env.action_space.seed(0)
    for _ in range(5):
        env.step(env.action_space.sample())
    env.close()
