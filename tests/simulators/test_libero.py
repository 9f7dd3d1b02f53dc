"""LIBERO behaves as in LeRobot to the last bit, and an episode does not know what ran before it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil
import pytest

from tests.golden import libero_variants
from tests.helpers import (
    GOLDEN,
    assert_all_gone,
    courses,
    descendants,
    journal_lines,
    start_yardarm,
    wait_until,
    yardarm,
)
from tests.simulators.acting import Actor, assert_same_picture
from yardarm.api import evaluate
from yardarm.envs import fingerprint
from yardarm.envs.messages import Rollout
from yardarm.policies import ActionChunk, ObservationSpec, Request
from yardarm.tasks import EpisodeSpec, TaskSpec
from yardarm.tasks.libero import LiberoConfig

VARIANTS = Path(libero_variants.__path__[0])
SMALL = {"observation_height": 64, "observation_width": 64}
Seen = dict[str, np.ndarray]


def task_with(task: str, task_id: int, **flags: Any) -> TaskSpec:
    (spec,) = LiberoConfig(task=task, task_ids=[task_id], **flags).tasks()
    return spec


class Course(NamedTuple):
    """All that can be known of an episode."""

    looks: list[Seen]
    """At the start, and after each action but the last."""
    rollout: Rollout


def play(actor: Actor, index: int, actions: np.ndarray, glances: Sequence[int] = (0,)) -> Course:
    """Play an episode that ends with the last action; see images at some steps, and the rest at all."""
    offered = actor.task.env.features
    numbers = tuple(name for name, feature in offered.items() if not feature.is_image)
    wanted = [tuple(offered) if step in glances else numbers for step in range(len(actions))]
    looks = [actor.begin(1000 + index, wanted[0], index)]
    for action, names in zip(actions[:-1], wanted[1:], strict=True):
        looks.append(actor.play(action[None], names))
    shown = [{name: seen[name] for name in names} for seen, names in zip(looks, wanted, strict=True)]
    return Course(shown, actor.play_to_the_end(actions[-1:]))


def assert_same(course: Course, other: Course) -> None:
    """Every bit."""
    for seen, expected in zip(course.looks, other.looks, strict=True):
        assert seen.keys() == expected.keys()
        for name, value in seen.items():
            np.testing.assert_array_equal(value, expected[name])
    np.testing.assert_array_equal(course.rollout.initial_state, other.rollout.initial_state)
    np.testing.assert_array_equal(course.rollout.rewards, other.rollout.rewards)
    assert course.rollout.fingerprints == other.rollout.fingerprints


class Recorded(NamedTuple):
    """A worker that has just played a recorded episode, its first."""

    actor: Actor
    golden: dict[str, np.ndarray]
    index: int
    actions: np.ndarray
    course: Course


@pytest.fixture(
    scope="module",
    params=[("libero_spatial", 0, 0), pytest.param(("libero_object", 3, 2), marks=pytest.mark.slow)],
    ids=lambda case: case[0],
)
def recorded(request: pytest.FixtureRequest) -> Iterator[Recorded]:
    suite, task_id, index = request.param
    with np.load(GOLDEN / "libero" / f"{suite}_{task_id}_{index}.npz") as file:
        golden = dict(file)
    # One more, because an episode that has ended is not looked at.
    actions = np.concatenate([golden["actions"], golden["actions"][:1]])
    size = {"observation_height": 256, "observation_width": 256}
    actor = Actor(task_with(suite, task_id, episode_length=len(actions), **size))
    with contextlib.closing(actor.pool):
        yield Recorded(actor, golden, index, actions, play(actor, index, actions, glances=(0, 16)))


def test_episodes_go_as_in_lerobot(recorded: Recorded) -> None:
    golden = recorded.golden
    assert recorded.actor.task.instruction == str(golden["instruction"])
    assert recorded.actor.task.name == str(golden["name"])
    for step, seen in enumerate(recorded.course.looks):
        for name, golden_name in {"joint_pos": "joints"}.items() | {
            (name, name) for name in ("eef_pos", "eef_quat", "gripper_qpos")
        }:
            np.testing.assert_allclose(
                seen[f"observation.state.{name}"], golden[f"{step}.{golden_name}"], rtol=0, atol=1e-5
            )
        np.testing.assert_allclose(seen["observation.state"][:3], golden[f"{step}.eef_pos"], rtol=0, atol=1e-5)
        np.testing.assert_allclose(seen["observation.state"][6:], golden[f"{step}.gripper_qpos"], rtol=0, atol=1e-5)
    for step in (0, 16):
        for name in ("image", "image2"):
            shown = golden[f"{step}.{name}"][::-1, ::-1]  # recorded before LeRobot turns it
            assert_same_picture(recorded.course.looks[step][f"observation.images.{name}"], shown)
    np.testing.assert_array_equal(recorded.course.rollout.rewards[:-1], golden["rewards"])


def test_an_episode_does_not_know_what_ran_before_it(recorded: Recorded) -> None:
    wild = np.random.default_rng(0).uniform(-1, 1, recorded.actions.shape).astype(np.float32)
    for index in (7, 1):
        play(recorded.actor, index, wild, glances=())
    again = play(recorded.actor, recorded.index, recorded.actions, glances=(0, 16))
    assert_same(again, recorded.course)


@pytest.mark.parametrize(
    "name",
    [pytest.param(path.stem, marks=pytest.mark.slow) for path in sorted(VARIANTS.glob("*.npz"))],
)
def test_variants_go_as_in_lerobot(name: str) -> None:
    with np.load(VARIANTS / f"{name}.npz") as file:
        golden = dict(file)
    task = task_with(str(golden["suite"]), int(golden["task_id"]), **json.loads(str(golden["flags"])), **SMALL)
    assert (task.name, task.instruction, task.max_steps) == tuple(
        golden[key].item() for key in ("name", "instruction", "max_steps")
    )
    numbers = tuple(name for name, feature in task.env.features.items() if not feature.is_image)
    index, actions, ends = int(golden["index"]), golden["actions"], bool(golden["terminated"].any())
    actor = Actor(task)
    with contextlib.closing(actor.pool):
        looks = [actor.begin(1000 + index, index=index)]
        for action in actions[:-1]:
            looks.append(actor.play(action[None], numbers))
        if ends:
            rollout = actor.play_to_the_end(actions[-1:])
            assert rollout.success
            np.testing.assert_array_equal(rollout.rewards, golden["rewards"])
        else:
            looks.append(actor.play(actions[-1:]))
            for image in ("image", "image2"):
                assert_same_picture(looks[-1][f"observation.images.{image}"], golden[f"last.{image}"])
    for image in ("image", "image2"):
        assert_same_picture(looks[0][f"observation.images.{image}"], golden[f"first.{image}"])
    for number in numbers:
        seen = np.stack([look[number] for look in looks])
        expected = golden[number.removeprefix("observation.")][: len(looks)]
        np.testing.assert_allclose(seen, expected, rtol=0, atol=1e-5)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("suite", "task_id", "flags"),
    [
        ("libero_spatial", 4, {}),  # an open drawer with a bowl in it
        ("libero_object", 7, {"control_mode": "absolute"}),
        ("libero_goal", 7, {}),  # a stove and a drawer
        ("libero_10", 8, {"init_states": False}),  # a stove that is on
        ("libero_90", 33, {"fps": 30}),  # an open microwave
    ],
)
def test_a_kept_scene_equals_a_new_one_to_the_last_bit(
    suite: str, task_id: int, flags: dict[str, Any], tmp_path: Path
) -> None:
    index = 3
    actions = np.random.default_rng(index).uniform(-1, 1, (9, 7)).astype(np.float32)
    if "control_mode" in flags:
        actions = (actions * 0.1 + [0, 0, 0.3, 3, 0, 0, 0]).astype(np.float32)
    task = task_with(suite, task_id, episode_length=len(actions), **flags, **SMALL)
    actor = Actor(task)
    with contextlib.closing(actor.pool):
        for other in (index + 4, 0):
            play(actor, other, actions[::-1], glances=())
        kept = play(actor, index, actions, glances=range(len(actions)))
    new = _played_in_a_new_environment(task, index, flags, actions, tmp_path)
    for step, seen in enumerate(kept.looks):
        for name, value in seen.items():
            if name != "observation.state":
                np.testing.assert_array_equal(value, new[f"{step}.{name.removeprefix('observation.')}"])
    np.testing.assert_array_equal(kept.rollout.initial_state, new["states"][0])
    np.testing.assert_array_equal(kept.rollout.rewards, new["rewards"])
    assert kept.rollout.fingerprints[len(actions)] == fingerprint(new["states"][-1])


def _played_in_a_new_environment(
    task: TaskSpec, index: int, flags: dict[str, Any], actions: np.ndarray, folder: Path
) -> dict[str, np.ndarray]:
    asked = folder / "asked.npz"
    identity = {"suite": task.env.options["suite"], "name": task.name, "index": index, "seed": 1000 + index}
    np.savez(asked, **identity, flags=json.dumps(flags), actions=actions, side=task.env.options["height"])
    environment = {"MUJOCO_GL": "egl", "OMP_NUM_THREADS": "1", **os.environ}
    subprocess.run([sys.executable, VARIANTS / "hard.py", asked], check=True, capture_output=True, env=environment)
    with np.load(asked.with_suffix(".played.npz")) as file:
        return dict(file)


class Peeker:
    """Lets what it sees decide what it does: no pixel can differ without consequences."""

    wants = ObservationSpec(("observation.images.image", "observation.images.image2", "observation.state"))
    place = "host"
    id = "peeker"

    def start(self, episode: EpisodeSpec) -> None:
        return None

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        return [ActionChunk(self._chunk(request)) for request in requests]

    def _chunk(self, request: Request) -> np.ndarray:
        sight = sum(int(value.astype(np.float64).sum() * 1e6) for value in request.observation.values())
        return np.random.default_rng(sight).uniform(-1, 1, (4, 7)).astype(np.float32)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_no_batch_size_changes_what_is_seen(tmp_path: Path) -> None:
    config = LiberoConfig(task="libero_goal,libero_10", task_ids=[7], episode_length=12, **SMALL)
    outcomes = [
        courses(evaluate(Peeker(), config, n_episodes=3, output_dir=tmp_path / name, **options))
        for name, options in {
            "one": {"batch_size": 1},
            "three": {"batch_size": 3},
            "here": {"batch_size": 1, "use_async_envs": False},
        }.items()
    ]
    assert len(outcomes[0]) == 6
    assert outcomes[1] == outcomes[0]
    assert outcomes[2] == outcomes[0]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_killed_run_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    words = ["eval", "--env.type=libero", "--env.task=libero_goal", "--env.task_ids=[0,7]", "--env.episode_length=60"]
    words += ["--env.obs_type=state", "--policy.type=random", "--eval.n_episodes=4", "--eval.batch_size=2"]
    assert yardarm(*words, f"--output_dir={tmp_path / 'undisturbed'}").returncode == 0
    folder = tmp_path / "run"
    process = start_yardarm(*words, f"--output_dir={folder}")
    wait_until(lambda: journal_lines(folder) >= 3)
    children = descendants(process.pid)
    process.kill()
    process.communicate()
    assert_all_gone(children)
    assert 3 <= journal_lines(folder) < 8
    assert yardarm(*words, f"--output_dir={folder}").returncode == 0
    assert courses(folder) == courses(tmp_path / "undisturbed")


class MemoryWatch(threading.Thread):
    """Notes the memory of this process and its launcher over time, and the most that each worker had."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.lasting: list[int] = []
        self.workers: dict[int, int] = {}
        self._is_over = threading.Event()

    def run(self) -> None:
        own = psutil.Process()
        while not self._is_over.wait(0.2):
            with contextlib.suppress(psutil.Error):
                launchers = own.children()
                self.lasting.append(sum(process.memory_info().rss for process in [own, *launchers]))
                for worker in (child for launcher in launchers for child in launcher.children()):
                    used = worker.memory_full_info().uss
                    self.workers[worker.pid] = max(used, self.workers.get(worker.pid, 0))

    def finish(self) -> None:
        self._is_over.set()
        self.join()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_memory_does_not_grow_over_forty_tasks(tmp_path: Path) -> None:
    suites = "libero_spatial,libero_object,libero_goal,libero_10"
    config = LiberoConfig(task=suites, episode_length=4, **SMALL)
    watch = MemoryWatch()
    watch.start()
    result = evaluate(Peeker(), config, n_episodes=1, batch_size=2, output_dir=tmp_path / "run")
    watch.finish()
    assert len(result.episodes) == 40
    assert not result.counts.errors
    assert watch.lasting[-10] <= 1.1 * watch.lasting[len(watch.lasting) // 5]
    _, *workers = watch.workers.values()  # the first one found out how to render
    assert len(workers) == 40
    for suite in (workers[:10], workers[10:20], workers[20:30]):  # the scenes of the fourth differ in size
        assert max(suite[-3:]) <= 1.1 * max(suite[:3])


@pytest.mark.slow
def test_nothing_is_printed_or_left_behind_by_a_simulator_in_this_process(tmp_path: Path) -> None:
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    words = ["eval", "--env.type=libero", "--env.task=libero_goal", "--env.task_ids=[7]", "--env.episode_length=2"]
    words += ["--policy.type=zero", "--eval.n_episodes=1", "--eval.use_async_envs=false", "--output_dir=run"]
    log = Path("/tmp/robosuite.log")
    before = log.stat().st_mtime if log.exists() else None
    done = yardarm(*words, HOME=str(home), TMPDIR=str(temporary), PYTHONWARNINGS="default")
    assert done.returncode == 0
    assert "robosuite" not in done.stdout + done.stderr
    assert "[info]" not in done.stdout + done.stderr
    assert not list(home.iterdir())
    assert (log.stat().st_mtime if log.exists() else None) == before
