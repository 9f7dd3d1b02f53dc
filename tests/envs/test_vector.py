"""Tasks with Gymnasium's face: its own checkers pass, and its episodes are those of an evaluation."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import VectorEnv

import yardarm
from tests.simulators.acting import Actor
from yardarm.envs.vector import LazyVectorEnv, TaskEnv
from yardarm.errors import UsageError
from yardarm.tasks import BENCHMARKS
from yardarm.tasks.metaworld import MetaworldConfig

SMALL = {"observation_height": 16, "observation_width": 24}


@pytest.fixture
def reach() -> Iterator[LazyVectorEnv]:
    env = yardarm.make_env(MetaworldConfig(task="reach-v3", episode_length=6, **SMALL), n_envs=2)["reach-v3"][0]
    yield env
    env.close()


@pytest.mark.parametrize(
    ("name", "options"), [("toy", {"task": "left"}), ("metaworld", {"task": "push-v3", **SMALL}), ("pusht", {})]
)
def test_gymnasiums_checker_passes(name: str, options: dict[str, object]) -> None:
    env = TaskEnv(BENCHMARKS.load(name)(**options).tasks()[0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(env)
    env.close()
    # States are unbounded, PushT's actions are pixels, and the environment was not made by `gymnasium.make`.
    expected = ("infinity", "normalized", "not having a spec")
    messages = [str(warning.message) for warning in caught]
    assert [text for text in messages if not any(words in text for words in expected)] == []


def test_environments_come_by_suite_and_task_as_lerobots_do() -> None:
    envs = yardarm.make_env(MetaworldConfig(task="reach-v3,hard"), n_envs=3)
    assert {suite: list(tasks) for suite, tasks in envs.items()} == {"reach-v3": [0], "hard": [0, 1, 2, 3, 4, 5]}
    env = envs["hard"][5]
    assert isinstance(env, VectorEnv)
    assert env.num_envs == 3
    assert env.single_observation_space["pixels"].shape == (480, 480, 3)
    assert env.action_space.shape == (3, 4)
    assert env._inner is None  # nothing was built for all this


def test_names_and_pictures_can_be_called_for(reach: LazyVectorEnv) -> None:
    reach.reset(seed=[1000, 1001])
    assert reach.call("task_description") == ("Reach a goal position",) * 2
    assert reach.call("task") == ("reach-v3",) * 2
    assert [picture.shape for picture in reach.call("render")] == [(16, 24, 3)] * 2


def test_a_seed_says_which_episode_it_is(reach: LazyVectorEnv) -> None:
    (task,) = MetaworldConfig(task="reach-v3", episode_length=6, **SMALL).tasks()
    actor = Actor(task)
    actions = np.random.default_rng(0).uniform(-1, 1, (3, 4)).astype(np.float32)
    expected = [(actor.begin(seed), actor.play(actions)) for seed in (1000, 1001)]
    actor.pool.close()
    first, _ = reach.reset()  # the first two episodes
    for action in actions:
        later, *_ = reach.step(np.stack([action, action]))
    for row, (begun, played) in enumerate(expected):
        np.testing.assert_array_equal(first["pixels"][row], begun["observation.image"])
        np.testing.assert_array_equal(later["agent_pos"][row], played["observation.state"])
        np.testing.assert_array_equal(later["pixels"][row], played["observation.image"])


def test_episodes_follow_each_other(reach: LazyVectorEnv) -> None:
    first, _ = reach.reset()
    second, _ = reach.reset()
    assert (first["environment_state"] != second["environment_state"]).any()
    again, _ = reach.reset(seed=[1002, 1003])
    np.testing.assert_array_equal(second["environment_state"], again["environment_state"])


def test_the_step_limit_truncates_and_the_next_step_begins_anew(reach: LazyVectorEnv) -> None:
    reach.reset()
    for _ in range(6):
        _, _, terminated, truncated, info = reach.step(np.zeros((2, 4), np.float32))
    assert truncated.all()
    assert not terminated.any()
    assert not info["is_success"].any()
    *_, truncated, _ = reach.step(np.zeros((2, 4), np.float32))
    assert not truncated.any()


def test_it_can_be_closed_and_used_again(reach: LazyVectorEnv) -> None:
    before, _ = reach.reset(seed=[1000, 1001])
    reach.close()
    assert reach._inner is None
    after, _ = reach.reset(seed=[1000, 1001])
    np.testing.assert_array_equal(before["pixels"], after["pixels"])


@pytest.mark.slow
def test_several_processes_play_the_same_and_nothing_is_said_at_exit() -> None:
    script = """
import numpy as np, yardarm
from yardarm.tasks.metaworld import MetaworldConfig
if __name__ == "__main__":
    config = MetaworldConfig(task="reach-v3", observation_height=16, observation_width=16)
    seen = []
    for together in (False, True):
        env = yardarm.make_env(config, n_envs=2, use_async_envs=together)["reach-v3"][0]
        env.reset()
        seen.append(env.step(np.full((2, 4), 0.5, np.float32))[0])
        if together:
            env.close()
    assert all((seen[0][key] == seen[1][key]).all() for key in seen[0])
    print("same")
"""
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout == "same\n"
    assert answer.stderr == ""


def test_the_environment_of_one_task_is_a_line_away() -> None:
    with yardarm.make_env("toy", task="left") as envs:
        env = envs.only
        assert repr(envs) == "['left'][0]  left: 1 environment"
        env.reset(seed=[1000])
        assert env._inner is not None
    assert env._inner is None  # closed


def test_several_environments_are_named_by_how_to_get_them() -> None:
    envs = yardarm.make_env("toy", n_envs=2)
    assert repr(envs) == "['left'][0]  left: 2 environments\n['right'][0]  right: 2 environments"
    with pytest.raises(UsageError, match=r"there are 2 environments; choose one: \['left'\]\[0\] left, \['right'\]"):
        envs.only  # noqa: B018


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"taks": "left"}, "benchmark 'toy' has no option 'taks'; did you mean 'task'?"),
        ({"task": 3}, "task must be text, got 3"),
        ({"n_envs": "2"}, "n_envs must be a whole number, got '2'"),
        ({"use_async_envs": "yes"}, "use_async_envs must be true or false, got 'yes'"),
    ],
)
def test_options_of_a_benchmark_are_checked(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        yardarm.make_env("toy", **options)  # type: ignore[arg-type]


def test_options_are_for_a_name_and_not_for_a_configuration() -> None:
    with pytest.raises(UsageError, match="a configuration has its own: MetaworldConfig"):
        yardarm.make_env(MetaworldConfig(), task="reach-v3")


def test_mistakes_get_one_clear_line() -> None:
    with pytest.raises(UsageError, match="n_envs must be at least 1"):
        yardarm.make_env("metaworld", n_envs=0)
    with pytest.raises(UsageError, match="unknown benchmark 'metawrld'; did you mean 'metaworld'"):
        yardarm.make_env("metawrld")
