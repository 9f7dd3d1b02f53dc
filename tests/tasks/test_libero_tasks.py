from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from yardarm.errors import UsageError
from yardarm.tasks import TaskSpec
from yardarm.tasks.libero import LiberoConfig
from yardarm.tasks.libero_catalogue import INSTRUCTIONS, SUITES

ASK_THE_PACKAGE = """
import json, sys
from libero.libero.benchmark import get_benchmark
suites = {name: get_benchmark(name)().tasks for name in sys.argv[1:]}
print(json.dumps({name: [[task.name, task.language] for task in tasks] for name, tasks in suites.items()}))
"""


def offered(**flags: Any) -> list[str]:
    return [name.removeprefix("observation.") for name in first_task(**flags).env.features]


def first_task(**flags: Any) -> TaskSpec:
    return LiberoConfig(**flags).tasks()[0]


def test_the_catalogue_is_the_packages_own_to_the_letter() -> None:
    output = subprocess.run(
        [sys.executable, "-c", ASK_THE_PACKAGE, *SUITES], capture_output=True, text=True, check=True
    ).stdout
    suites = json.loads(output.splitlines()[-1])
    ours = {suite: [[name, INSTRUCTIONS[name]] for name in names] for suite, names in SUITES.items()}
    assert ours == suites


def test_there_are_130_tasks_with_names_of_their_own() -> None:
    tasks = LiberoConfig.catalogue()
    assert len({task.key() for task in tasks}) == len({task.name for task in tasks}) == 130


def test_the_default_is_lerobots() -> None:
    tasks = LiberoConfig().tasks()
    assert [(task.group, task.index) for task in tasks] == [("libero_10", index) for index in range(10)]
    assert tasks[0].env.features["observation.images.image"].shape == (360, 360, 3)
    assert (tasks[0].max_steps, tasks[0].fps) == (520, 20)


def test_a_selector_mixes_suites_and_tasks() -> None:
    name = SUITES["libero_90"][33]
    tasks = LiberoConfig(task=f"libero_goal, {name}").tasks()
    assert [(task.group, task.index) for task in tasks[9:]] == [("libero_goal", 9), (name, 0)]
    assert tasks[-1].env.options["suite"] == "libero_90"


def test_a_task_is_the_same_however_it_was_selected() -> None:
    by_name = LiberoConfig(task=SUITES["libero_goal"][3]).tasks()
    by_id = LiberoConfig(task="libero_goal", task_ids=[3]).tasks()
    assert [task.key() for task in by_name] == [task.key() for task in by_id]


def test_ids_pick_tasks_of_each_suite_sorted_and_once() -> None:
    tasks = LiberoConfig(task="libero_goal,libero_90", task_ids=[7, 0, 7]).tasks()
    assert [(task.group, task.index) for task in tasks] == [
        ("libero_goal", 0),
        ("libero_goal", 7),
        ("libero_90", 0),
        ("libero_90", 7),
    ]
    assert tasks[1].name == "turn_on_the_stove"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"task": "libero_gaol"}, "unknown task 'libero_gaol'; did you mean 'libero_goal'?"),
        ({"task": " , "}, "--env.task is empty"),
        ({"task_ids": [10]}, "--env.task_ids has 10, but the tasks of libero_10 are 0 to 9"),
        ({"task_ids": [-1]}, "--env.task_ids has -1"),
        ({"task_ids": []}, "--env.task_ids is empty"),
        ({"task": "turn_on_the_stove", "task_ids": [0]}, "--env.task_ids selects tasks of a suite"),
    ],
)
def test_unknown_tasks_are_refused_with_what_to_do(flags: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        LiberoConfig(**flags).tasks()
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"obs_type": "pixel"}, "--env.obs_type 'pixel' is unknown; did you mean 'pixels'?"),
        ({"control_mode": "abs"}, "one of relative, absolute"),
        ({"camera_name": "agentview"}, "did you mean 'agentview_image'?"),
        ({"camera_name": ","}, "--env.camera_name is empty"),
        ({"camera_name_mapping": {"wrist": "image"}}, "--env.camera_name_mapping 'wrist' is unknown"),
        ({"camera_name_mapping": {"agentview_image": "image2"}}, "the same name"),
        ({"fps": 0}, "--env.fps must be positive"),
        ({"fps": 501}, "--env.fps must be at most 500"),
        ({"episode_length": 0}, "--env.episode_length must be positive"),
        ({"observation_height": 0}, "--env.observation_height must be positive"),
        ({"observation_width": -1}, "--env.observation_width must be positive"),
        ({"is_libero_plus": True}, "--env.is_libero_plus=true is not supported"),
        ({"hard_reset": False, "init_states": False}, "--env.hard_reset=false needs --env.init_states=true"),
        ({"max_parallel_tasks": -1}, "--env.max_parallel_tasks"),
    ],
)
def test_bad_flags_are_refused_in_one_line(flags: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        LiberoConfig(**flags)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_step_limits_are_lerobots_unless_one_is_given() -> None:
    limits = {suite: first_task(task=suite).max_steps for suite in SUITES}
    assert limits == {
        "libero_spatial": 280,
        "libero_object": 280,
        "libero_goal": 300,
        "libero_10": 520,
        "libero_90": 400,
    }
    assert first_task(episode_length=50).max_steps == 50


def test_obs_type_decides_what_is_offered() -> None:
    assert offered(obs_type="pixels") == ["images.image", "images.image2"]
    assert offered(obs_type="state")[:2] == ["state", "state.eef_pos"]
    assert offered() == offered(obs_type="pixels") + offered(obs_type="state")


def test_cameras_are_named_by_the_mapping_then_as_in_lerobot_then_as_they_are() -> None:
    cameras = "robot0_eye_in_hand_image,agentview_image,birdview_image"
    task = first_task(camera_name=cameras, camera_name_mapping={"agentview_image": "front"}, obs_type="pixels")
    assert [name.removeprefix("observation.images.") for name in task.env.features] == [
        "image2",
        "front",
        "birdview_image",
    ]
    assert task.env.cameras[:4] == ("robot0_eye_in_hand", "agentview", "birdview", "frontview")
    assert first_task().env.cameras[0] == "agentview"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"hard_reset": False}, "exactly as after LeRobot's hard reset"),
        ({"render_mode": "human"}, "policies always get RGB arrays"),
        ({"fps": 30}, "an action takes 16 of them"),
    ],
)
def test_flags_that_surprise_say_so(flags: dict[str, Any], words: str) -> None:
    (note,) = LiberoConfig(**flags).notes()
    assert words in note


def test_ordinary_flags_need_no_note() -> None:
    assert not LiberoConfig().notes()
    assert not LiberoConfig(fps=10, control_mode="absolute", init_states=False).notes()


def test_what_changes_pixels_or_physics_changes_the_identity() -> None:
    changes: list[dict[str, Any]] = [
        {},
        {"task": "libero_goal"},
        {"fps": 10},
        {"control_mode": "absolute"},
        {"init_states": False},
        {"observation_height": 128},
        {"camera_name": "agentview_image"},
    ]
    assert len({first_task(**change).env.options_hash for change in changes}) == len(changes)
    assert first_task(hard_reset=False).env.options_hash == first_task().env.options_hash
