from __future__ import annotations

import json

import pytest

from tests.helpers import GOLDEN
from yardarm.errors import UsageError
from yardarm.tasks.metaworld import MetaworldConfig

REFERENCE = json.loads((GOLDEN / "metaworld_tasks.json").read_text())


@pytest.mark.parametrize("group", REFERENCE["groups"])
def test_groups_have_lerobots_tasks_in_lerobots_order(group: str) -> None:
    tasks = MetaworldConfig(task=group).tasks()
    assert [task.name for task in tasks] == REFERENCE["groups"][group]
    assert [task.index for task in tasks] == list(range(len(tasks)))
    assert {task.group for task in tasks} == {group}


def test_instructions_equal_those_of_the_public_dataset_to_the_letter() -> None:
    assert {task.name: task.instruction for task in MetaworldConfig(task="mt50").tasks()} == REFERENCE["instructions"]


def test_a_selector_mixes_tasks_and_groups() -> None:
    tasks = MetaworldConfig(task="assembly-v3, dial-turn-v3,easy").tasks()
    assert [(task.group, task.index) for task in tasks[:3]] == [("assembly-v3", 0), ("dial-turn-v3", 0), ("easy", 0)]
    assert len(tasks) == 30


def test_mt10_and_mt50_are_meta_worlds_own() -> None:
    assert len(MetaworldConfig(task="mt10").tasks()) == 10
    assert len(MetaworldConfig(task="mt50").tasks()) == 50
    assert MetaworldConfig(task="mt10").tasks()[0].name == "reach-v3"


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("reech-v3", "unknown task 'reech-v3'; did you mean 'reach-v3'? `yardarm tasks metaworld` lists all"),
        ("push-v2", "unknown task 'push-v2'; Meta-World 3 calls it 'push-v3'"),
        (" , ", "--env.task is empty"),
    ],
)
def test_unknown_tasks_are_refused_with_what_to_do(task: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        MetaworldConfig(task=task).tasks()
    assert message in str(error.value)


def test_the_prefix_of_old_lerobot_commands_is_accepted_with_a_note() -> None:
    config = MetaworldConfig(task="metaworld-push-v3")
    assert [task.name for task in config.tasks()] == ["push-v3"]
    assert any("prefix" in note for note in config.notes())


def test_flags_that_do_nothing_say_so() -> None:
    config = MetaworldConfig(multitask_eval=False, render_mode="human", fps=10, episode_length=100)
    assert len(config.notes()) == 4
    assert not MetaworldConfig().notes()


@pytest.mark.parametrize(
    "flags",
    [
        {"obs_type": "pixel"},
        {"camera_name": "corner9"},
        {"observation_height": 0},
        {"episode_length": 0},
        {"max_parallel_tasks": -1},
    ],
)
def test_bad_flags_are_refused(flags: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=f"--env.{next(iter(flags))}"):
        MetaworldConfig(**flags)  # type: ignore[arg-type]


def test_a_longer_episode_than_meta_world_has_is_cut_with_a_note() -> None:
    config = MetaworldConfig(task="reach-v3", episode_length=600)
    assert config.tasks()[0].max_steps == 500
    assert config.tasks() == MetaworldConfig(task="reach-v3").tasks()
    assert "at most 500 steps" in config.notes()[0]


def test_obs_type_decides_what_is_offered() -> None:
    def offered(obs_type: str) -> set[str]:
        return {
            name.removeprefix("observation.") for name in MetaworldConfig(obs_type=obs_type).tasks()[0].env.features
        }

    assert offered("pixels_agent_pos") == {"image", "state", "environment_state"}
    assert offered("pixels") == {"image", "environment_state"}
    assert offered("state") == {"state", "environment_state"}


def test_only_tasks_with_an_opposite_can_start_alike() -> None:
    with pytest.raises(UsageError, match="reach-v3 has no opposite"):
        MetaworldConfig(task="drawer-open-v3,reach-v3", alike=True).tasks()


def test_ordinary_episodes_keep_their_identity() -> None:
    (ordinary,) = MetaworldConfig(task="drawer-open-v3").tasks()
    assert not {"alike", "shadows"} & set(ordinary.env.options)
    (changed,) = MetaworldConfig(task="drawer-open-v3", alike=True, shadows=False).tasks()
    assert changed.env.options["alike"] is True
    assert changed.env.options["shadows"] is False
