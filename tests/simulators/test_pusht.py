"""PushT behaves as in LeRobot, and an episode does not know what ran before it."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.golden.gym_worlds.traces import apart, asking, assert_followed, everything_about, golden, played_by_gym
from tests.helpers import courses, yardarm
from tests.simulators.acting import Actor, assert_same_picture
from yardarm.api import evaluate
from yardarm.tasks import EpisodeSpec, TaskSpec
from yardarm.tasks.pusht import OBSERVATION_TYPES, PushtConfig

PUSHES = golden("PushT-v0_success")["actions"]


def task_with(**flags: Any) -> TaskSpec:
    (task,) = PushtConfig(**flags).tasks()
    return task


@pytest.mark.parametrize("name", ["PushT-v0_success", "PushT-v0_limit"])
def test_episodes_go_as_in_lerobot(name: str) -> None:
    trace = golden(name)
    task = task_with(episode_length=int(trace["episode_length"]))
    assert_followed(task, trace, lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), assert_same_picture)


def test_all_that_can_be_seen_is_gyms_own_to_the_last_bit(tmp_path: Path) -> None:
    shared = {"episode_length": 30, "frames_at": [0, 11, 29]}
    asked = [asking(golden("PushT-v0_success"), 30, obs_type=kind, **shared) for kind in OBSERVATION_TYPES]
    for kind, trace in zip(OBSERVATION_TYPES, played_by_gym(asked, tmp_path), strict=True):
        task = task_with(obs_type=kind, episode_length=30)
        assert_followed(task, trace, np.testing.assert_array_equal, np.testing.assert_array_equal)


def test_an_episode_does_not_know_what_ran_before_it() -> None:
    task = task_with(episode_length=30)
    actor, fresh_actor = Actor(task), Actor(task)
    with contextlib.closing(actor.pool), contextlib.closing(fresh_actor.pool):
        fresh = everything_about(fresh_actor, 1000, PUSHES[:30])
        everything_about(actor, 1005, PUSHES[30:60])
        actor.begin(1006)
        actor.play(PUSHES[:7])  # and then this one is given up
        again = everything_about(actor, 1000, PUSHES[:30])
    for name in fresh:
        np.testing.assert_array_equal(fresh[name], again[name], err_msg=name)


def by_eye(observations: dict[str, np.ndarray]) -> np.ndarray:
    """Go where the picture's colours say."""
    means = observations["observation.image"].astype(float).mean(axis=(1, 2))
    return (means[:, :2] * 971) % 512


by_eye.id = "by_eye"  # type: ignore[attr-defined]


def test_batch_size_does_not_change_results(tmp_path: Path) -> None:
    config = PushtConfig(episode_length=20, observation_height=32, observation_width=48)
    alone, together = (
        courses(
            evaluate(
                by_eye,
                config,
                inputs=["observation.image"],
                n_episodes=5,
                batch_size=size,
                output_dir=tmp_path / str(size),
            )
        )
        for size in (1, 3)
    )
    assert alone == together
    assert len({course["sum_reward"] for course in alone.values()}) > 1


@pytest.mark.slow
def test_nothing_but_results_is_printed(tmp_path: Path) -> None:
    flags = ("--policy.type=random", "--env.type=pusht", "--env.episode_length=20", "--eval.n_episodes=3")
    folders = tmp_path / "workers", tmp_path / "here"
    for folder, use_async_envs in zip(folders, ("true", "false"), strict=True):
        answer = yardarm("eval", *flags, f"--eval.use_async_envs={use_async_envs}", f"--output_dir={folder}")
        assert answer.returncode == 0
        assert not answer.stderr
        assert "pygame" not in answer.stdout
        assert not list(folder.glob("*.log"))
    assert courses(folders[0]) == courses(folders[1])


def _frames(seeds_before: list[int]) -> list[np.ndarray]:
    from yardarm.simulators.pusht import PushtSimulator

    task = task_with()
    simulator = PushtSimulator(task)
    for seed in seeds_before:
        simulator.reset(EpisodeSpec(task, 0, seed))
        simulator.step(PUSHES[0])
    simulator.reset(EpisodeSpec(task, 0, 1000))
    first = simulator.frame("top", 384, 384)
    simulator.step(PUSHES[0])
    return [first, *(simulator.frame("top", *size) for size in ((384, 384), (40, 64), (120, 100)))]


def _gyms_frames() -> list[np.ndarray]:
    from gym_pusht.envs import PushTEnv

    env = PushTEnv(visualization_height=384, visualization_width=384)
    env.reset(seed=1000)
    first = env.render()
    env.step(PUSHES[0])
    return [first, env.render()]


def test_videos_show_what_gym_shows_in_any_size() -> None:
    frames = apart(_frames, [])
    np.testing.assert_array_equal(frames[:2], apart(_gyms_frames))
    assert [frame.shape for frame in frames[2:]] == [(40, 64, 3), (120, 100, 3)]


def test_a_video_does_not_begin_with_the_last_episodes_cross() -> None:
    np.testing.assert_array_equal(apart(_frames, [1005])[0], apart(_frames, [])[0])


def _rewards_of_several() -> list[list[float]]:
    from yardarm.simulators.pusht import PushtSimulator

    task = task_with()
    simulators = [PushtSimulator(task) for _ in range(6)]  # all alive, so that each has its own place in memory
    for simulator in simulators:
        simulator.reset(EpisodeSpec(task, 0, 1000))
    return [[simulator.step(push).reward for push in PUSHES[:30]] for simulator in simulators]


def test_rewards_do_not_depend_on_addresses_in_memory() -> None:
    first, *others = apart(_rewards_of_several)
    assert all(rewards == first for rewards in others)


def _play_without_drawing() -> None:
    from gym_pusht.envs import PushTEnv

    from yardarm.simulators.pusht import PushtSimulator

    PushTEnv._draw = None
    task = task_with()
    simulator = PushtSimulator(task)
    simulator.reset(EpisodeSpec(task, 0, 1000))
    simulator.step(PUSHES[0])
    assert simulator.observe(["observation.state"])["observation.state"].shape == (2,)


def test_steps_draw_nothing() -> None:
    apart(_play_without_drawing)
