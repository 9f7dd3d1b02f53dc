"""The twin's scene as a world: the same physics as behind the twin's port."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.simulators.acting import Actor
from yardarm.api import evaluate
from yardarm.robots import robot_from_data, teleoperator_from_data
from yardarm.robots.cameras import make_camera
from yardarm.robots.twins import Stage, Twin, TwinTime
from yardarm.robots.twins.world import TwinWorld
from yardarm.tasks import TaskSpec
from yardarm.tasks.so101_twin import REACH, So101TwinConfig

FPS = 30
LOOKS = ("observation.state", "observation.environment_state")


def task_with(**flags: Any) -> TaskSpec:
    (task,) = So101TwinConfig(**flags).tasks()
    return task


def test_the_world_goes_as_the_twin_does_to_the_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    data: dict[str, Any] = {
        "robot": {"type": "so101_follower", "port": "twin", "num_read_retries": 20},
        "teleop": {"type": "scripted_pick_place"},
        "twin": {"realtime": "false", "scene": "cube_and_box", "seed": "11"},
    }
    world = TwinWorld("cube_and_box", FPS)
    world.reset(11)
    with Stage.from_data(data, "record") as stage:
        robot, leader = robot_from_data(data["robot"]), teleoperator_from_data(data["teleop"])
        with leader, robot:
            for tick in range(1, 150):  # long enough to grip and to carry
                assert list(robot.get_observation().values()) == world.positions(), tick
                action = leader.get_action()
                robot.send_action(action)
                stage.clock.wait_until(tick / FPS)
                world.act(list(action.values()))
            assert stage.twins["robot"].angles() == world.qpos  # type: ignore[union-attr]
    assert world.qpos[8] > 0.04, "the cube is lifted"


def test_actions_reach_as_far_as_the_joints() -> None:
    world = TwinWorld("cube_and_box", FPS)
    ends = [(scale.calibration.range_min, scale.calibration.range_max) for scale in world._scales.values()]
    values = [(own.value(low), own.value(high)) for own, (low, high) in zip(world._scales.values(), ends, strict=True)]
    assert values == [pytest.approx((-end, end), abs=0.1) for end in REACH] + [(0, 100)]


def test_an_episode_does_not_know_what_ran_before_it() -> None:
    task = task_with()
    moves = np.random.default_rng(0).uniform([*(-60,) * 5, 0], [*(60,) * 5, 100], (20, 6))
    actor, fresh = Actor(task), Actor(task)
    with contextlib.closing(actor.pool), contextlib.closing(fresh.pool):
        expected = (fresh.begin(1000, LOOKS), fresh.play(moves, LOOKS))
        actor.begin(1003, LOOKS)
        actor.play(-moves, LOOKS)
        found = (actor.begin(1000, LOOKS), actor.play(moves, LOOKS))
    for before, after in zip(expected, found, strict=True):
        for name in LOOKS:
            np.testing.assert_array_equal(before[name], after[name])


def test_the_expert_solves_it(tmp_path: Path) -> None:
    run = evaluate("expert", So101TwinConfig(), n_episodes=2, batch_size=2, output_dir=tmp_path / "run")
    assert [episode.success for episode in run.episodes] == [True, True]
    assert all(100 < episode.steps < 250 for episode in run.episodes)


@pytest.mark.slow
def test_pictures_are_those_of_the_twins_cameras_to_the_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    actor = Actor(task_with(cameras="front,top,wrist"))
    with contextlib.closing(actor.pool):
        seen = actor.begin(1003)
    twin = Twin("so101_follower", calibrated=True, real_time=False, scene="cube_and_box", seed=1003)
    with twin:
        for view in ("front", "top", "wrist"):
            camera = make_camera("sim", port=twin.port, camera=view)
            camera.clock = TwinTime([twin])
            with camera:
                np.testing.assert_array_equal(camera.read_latest(), seen[f"observation.images.{view}"])


@pytest.mark.slow
def test_pictures_show_the_scene() -> None:
    task = task_with(cameras="front,top,wrist", observation_height=48, observation_width=64)
    actor = Actor(task)
    with contextlib.closing(actor.pool):
        one, other = actor.begin(1000), actor.begin(1001)
    for camera in ("front", "top", "wrist"):
        name = f"observation.images.{camera}"
        assert one[name].shape == (48, 64, 3)
        assert len(np.unique(one[name])) > 20, "something is seen"
    front = one["observation.images.front"].astype(int)
    assert ((front[..., 0] - front[..., 1] > 60) & (front[..., 2] < 100)).sum() >= 3, "the cube is red"
    assert (front != other["observation.images.front"]).any(), "and lies elsewhere"
