"""Registered Gymnasium environments behind the protocol: Fetch as the example, small ones for what is special."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import yardarm
from tests.helpers import courses
from tests.helpers import yardarm as command
from tests.simulators.acting import Actor
from yardarm.envs import find_tasks
from yardarm.errors import SetupError, UsageError
from yardarm.tasks import TaskSpec
from yardarm.tasks.gym import GymConfig

FETCH = {"package_name": "gymnasium_robotics", "kwargs": {"width": 32, "height": 24}}
STATE = ("observation.observation", "observation.achieved_goal", "observation.desired_goal")
ACTIONS = np.random.default_rng(0).uniform(-1, 1, (6, 4)).astype(np.float32)


def task_of(name: str, **options: object) -> TaskSpec:
    (task,) = find_tasks(GymConfig(task=name, **options))
    return task


@pytest.fixture(scope="module", params=[True, False], ids=["rebuilt", "kept"])
def push(request: pytest.FixtureRequest) -> Iterator[Actor]:
    actor = Actor(task_of("FetchPush-v4", rebuild=request.param, **FETCH))
    yield actor
    actor.pool.close()


def test_the_task_is_what_the_environment_says() -> None:
    task = task_of("FetchPush-v4", **FETCH)
    assert {name: feature.shape for name, feature in task.env.features.items()} == {
        "observation.achieved_goal": (3,),
        "observation.desired_goal": (3,),
        "observation.observation": (25,),
        "observation.image": (24, 32, 3),
    }
    assert (task.env.action.size, task.env.action.low, task.env.action.high) == (4, -1.0, 1.0)
    assert (task.max_steps, task.fps, task.env.renderer, task.env.frame_size) == (50, 25, "mujoco", (24, 32))


def test_episodes_go_as_in_the_environment_itself(push: Actor) -> None:
    import gymnasium_robotics  # noqa: F401

    env = gymnasium.make("FetchPush-v4")
    expected, _ = env.reset(seed=1003)
    seen = push.begin(1003, STATE)
    for name in STATE:
        np.testing.assert_array_equal(seen[name], expected[name.removeprefix("observation.")])
    for action in ACTIONS:
        expected, *_ = env.step(action)
    seen = push.play(ACTIONS, STATE)
    for name in STATE:
        np.testing.assert_array_equal(seen[name], expected[name.removeprefix("observation.")])


def test_an_episode_does_not_know_what_ran_before(push: Actor) -> None:
    first = (push.begin(1000), push.play(ACTIONS))
    push.begin(1007)
    push.play(-ACTIONS)
    again = (push.begin(1000), push.play(ACTIONS))
    for before, after in zip(first, again, strict=True):
        for name, value in before.items():
            np.testing.assert_array_equal(value, after[name])


def test_looking_leaves_no_trace(push: Actor) -> None:
    push.begin(1000, STATE)
    blind = push.play(ACTIONS, STATE)
    push.begin(1000)
    for action in ACTIONS:
        seen = push.play(action[None])
    for name in STATE:
        np.testing.assert_array_equal(seen[name], blind[name])


@pytest.mark.parametrize("rebuild", [pytest.param(True, marks=pytest.mark.slow), False])
def test_schedules_change_nothing(rebuild: bool, tmp_path: Path) -> None:
    config = GymConfig(task="FetchReach-v4,FetchSlide-v4", episode_length=20, rebuild=rebuild, **FETCH)
    runs = [
        courses(yardarm.evaluate("random", config, n_episodes=2, batch_size=size, output_dir=tmp_path / str(size)))
        for size in (1, 3)
    ]
    assert runs[0] == runs[1]


@pytest.mark.slow
def test_a_replay_matches_what_was_recorded(tmp_path: Path) -> None:
    config = GymConfig(task="FetchReach-v4", episode_length=4, **FETCH)
    yardarm.evaluate("random", config, n_episodes=1, output_dir=tmp_path / "run")
    answer = command("replay", tmp_path / "run")
    assert answer.returncode == 0, answer.stderr
    assert "matches all 2 recorded fingerprints" in answer.stdout
    assert "draws 24x32 only" in command("replay", tmp_path / "run", "--size=100").stderr


def test_a_reward_can_mean_success(tmp_path: Path) -> None:
    def rate(**options: object) -> float | None:
        run = yardarm.evaluate("random", GymConfig(task="Pendulum-v1", episode_length=5, **options), n_episodes=2)
        return run.counts.rate

    assert rate(success_reward=-100.0) == 1
    assert rate(success_reward=1.0) == 0


def test_success_may_end_an_episode_or_must_hold_at_its_end() -> None:
    at_once = yardarm.evaluate(
        "random",
        GymConfig(task="Pendulum-v1", episode_length=5, success_reward=-100.0, success_ends_episode=True),
        n_episodes=1,
    )
    at_the_end = yardarm.evaluate(
        "random", GymConfig(task="Pendulum-v1", episode_length=5, success_reward=-100.0), n_episodes=1
    )
    assert [run.episodes[0].steps for run in (at_once, at_the_end)] == [1, 5]
    assert all(run.episodes[0].success for run in (at_once, at_the_end))


def test_a_policy_sees_the_drawing_if_there_is_no_other_picture() -> None:
    shapes = []

    def look(observations: dict[str, np.ndarray]) -> np.ndarray:
        shapes.append({name: value.shape for name, value in observations.items()})
        return np.zeros((1, 1))

    yardarm.evaluate(look, GymConfig(task="Pendulum-v1", episode_length=2, success_reward=0.0), n_episodes=1)
    assert shapes[0] == {"observation.state": (1, 3), "observation.image": (1, 500, 500, 3)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": ""}, "--env.task is empty"),
        ({"task": "Pendulm-v1"}, "no environment 'Pendulm-v1' is registered; did you mean 'Pendulum-v1'"),
        ({"task": "nowhere/Thing-v0"}, "needs the package 'nowhere', which cannot be imported"),
        ({"task": "Pendulum-v1", "episode_length": 5}, r"info has no 'is_success' \(it has nothing\)"),
        ({"task": "Pendulum-v1"}, r"info has no 'is_success' \(it has nothing\)"),  # seen after 200 steps only
        ({"task": "CartPole-v1"}, r"info has no 'is_success' \(it has nothing\)"),
        ({"task": "Pendulum-v1", "kwargs": {"gravity": 1}}, "unexpected keyword argument 'gravity'"),
        ({"task": "Pendulum-v1", "episode_length": 0}, "--env.episode_length must be positive"),
    ],
)
def test_mistakes_get_one_clear_line(options: dict[str, object], message: str) -> None:
    with pytest.raises((UsageError, SetupError), match=message):
        find_tasks(GymConfig(**options))
