"""ALOHA behaves as in LeRobot, and an episode does not know what ran before it."""

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
from yardarm.envs import ProcessPool
from yardarm.tasks import EpisodeSpec, TaskSpec
from yardarm.tasks.aloha import INSTRUCTIONS, AlohaConfig

BOTH = ",".join(INSTRUCTIONS)
SMALL = {"observation_height": 48, "observation_width": 64}


def task_with(**flags: Any) -> TaskSpec:
    (task,) = AlohaConfig(**flags).tasks()
    return task


def renderer_of(task: TaskSpec) -> str:
    with contextlib.closing(ProcessPool(1)) as pool:
        return str(pool.choose_renderer([task])).partition(":")[0]


@pytest.mark.parametrize("name", INSTRUCTIONS)
@pytest.mark.parametrize("course", ["success", "limit"])
def test_episodes_go_as_in_lerobot(name: str, course: str) -> None:
    trace = golden(f"{name}_{course}")
    task = task_with(task=name, episode_length=int(trace["episode_length"]))
    assert_followed(task, trace, lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), assert_same_picture)


def test_all_that_can_be_seen_is_gyms_own_to_the_last_bit(tmp_path: Path) -> None:
    insertion, transfer = (golden(f"{name}_success") for name in INSTRUCTIONS)
    shared = {"episode_length": 3, "frames_at": [0, 2], "shrink": 1}
    asked = [asking(transfer, 3, **shared), asking(insertion, 3, **shared, obs_type="pixels")]
    played = played_by_gym(asked, tmp_path, renderer_of(task_with()))
    for name, trace in zip(reversed(INSTRUCTIONS), played, strict=True):
        task = task_with(task=name, obs_type=str(trace["obs_type"]), episode_length=int(trace["episode_length"]))
        assert_followed(task, trace, np.testing.assert_array_equal, np.testing.assert_array_equal)


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_an_episode_does_not_know_what_ran_before_it(name: str) -> None:
    actions = golden(f"{name}_limit")["actions"][:3]
    wild = golden(f"{name}_success")["actions"][:3]
    task = task_with(task=name, episode_length=3, **SMALL)
    actor, fresh_actor = Actor(task), Actor(task)
    with contextlib.closing(actor.pool), contextlib.closing(fresh_actor.pool):
        fresh = everything_about(fresh_actor, 1000, actions)
        everything_about(actor, 1005, wild)
        actor.begin(1006)
        actor.play(wild[:2])  # and then this one is given up
        again = everything_about(actor, 1000, actions)
    for key in fresh:
        np.testing.assert_array_equal(fresh[key], again[key], err_msg=key)


def _seen_after(tasks_before: list[TaskSpec], task: TaskSpec, renderer: str) -> list[np.ndarray]:
    from yardarm.envs.rendering import use_backend

    use_backend(renderer)
    from yardarm.simulators.aloha import AlohaSimulator

    for other in [*tasks_before, task]:
        simulator = AlohaSimulator(other)
        simulator.reset(EpisodeSpec(other, 0, 1000))
        simulator.step(np.full(14, 0.5, np.float32))
        seen = [*simulator.observe(other.env.features).values(), simulator.state()]
    return seen


@pytest.mark.slow
def test_the_other_task_in_the_same_process_changes_nothing() -> None:
    insertion, transfer = AlohaConfig(task=BOTH, **SMALL).tasks()
    renderer = renderer_of(insertion)
    fresh, after_others = (apart(_seen_after, before, insertion, renderer) for before in ([], [transfer, insertion]))
    for one, other in zip(fresh, after_others, strict=True):
        np.testing.assert_array_equal(one, other)


def by_eye(observations: dict[str, np.ndarray]) -> np.ndarray:
    """Move as the picture's rows say."""
    rows = observations["observation.images.top"].astype(float).mean(axis=(2, 3))
    return np.sin(rows[:, 10:24])


by_eye.id = "by_eye"  # type: ignore[attr-defined]


@pytest.mark.slow
def test_batch_size_does_not_change_results(tmp_path: Path) -> None:
    config = AlohaConfig(task="AlohaTransferCube-v0", episode_length=3, **SMALL)
    alone, together = (
        courses(
            evaluate(
                by_eye,
                config,
                inputs=["observation.images.top"],
                n_episodes=3,
                batch_size=size,
                output_dir=tmp_path / str(size),
            )
        )
        for size in (1, 3)
    )
    assert alone == together
    assert len({course["fingerprints"]["3"] for course in alone.values()}) == 3


@pytest.mark.slow
def test_nothing_but_results_is_printed_and_nothing_is_rendered_for_nobody(tmp_path: Path) -> None:
    flags = ("--policy.type=random", "--env.type=aloha", f"--env.task={BOTH}", "--env.episode_length=10")
    folders = tmp_path / "workers", tmp_path / "here"
    for folder, use_async_envs in zip(folders, ("true", "false"), strict=True):
        # Where nobody looks, no OpenGL is opened: in a worker, the first attempt to render would fail.
        answer = yardarm(
            "eval", *flags, "--eval.n_episodes=3", f"--eval.use_async_envs={use_async_envs}", f"--output_dir={folder}"
        )
        assert answer.returncode == 0
        assert not answer.stderr
        assert not list(folder.glob("*.log"))
    assert courses(folders[0]) == courses(folders[1])
