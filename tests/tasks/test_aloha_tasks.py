from __future__ import annotations

import pytest

from yardarm.errors import UsageError
from yardarm.tasks.aloha import AlohaConfig


def test_a_single_task_is_numbered_as_lerobot_does() -> None:
    for name in ("AlohaInsertion-v0", "AlohaTransferCube-v0"):
        (task,) = AlohaConfig(task=name).tasks()
        assert (task.group, task.index, task.name) == ("aloha", 0, name)
        assert (task.max_steps, task.fps) == (400, 50)
        assert (task.env.action.size, task.env.action.low, task.env.action.high) == (14, -1, 1)


def test_several_tasks_can_be_selected() -> None:
    tasks = AlohaConfig(task="AlohaTransferCube-v0, AlohaInsertion-v0,AlohaInsertion-v0").tasks()
    assert [(task.index, task.name) for task in tasks] == [(0, "AlohaTransferCube-v0"), (1, "AlohaInsertion-v0")]
    assert {task.name for task in AlohaConfig.catalogue()} == {task.name for task in tasks}
    assert len({task.instruction for task in tasks}) == 2


@pytest.mark.parametrize(
    ("obs_type", "offered"),
    [
        ("pixels_agent_pos", {"observation.images.top": (480, 640, 3), "observation.state": (14,)}),
        ("pixels", {"observation.images.top": (480, 640, 3)}),
        ("state", {"observation.state": (14,)}),
    ],
)
def test_obs_type_decides_what_is_offered(obs_type: str, offered: dict[str, tuple[int, ...]]) -> None:
    (task,) = AlohaConfig(obs_type=obs_type).tasks()
    assert {name: feature.shape for name, feature in task.env.features.items()} == offered


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("AlohaInsert-v0", "unknown task 'AlohaInsert-v0'; did you mean 'AlohaInsertion-v0'?"),
        ("reach", "unknown task 'reach'; use one of AlohaInsertion-v0, AlohaTransferCube-v0"),
        (" , ", "--env.task is empty"),
    ],
)
def test_unknown_tasks_are_refused_with_what_to_do(task: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        AlohaConfig(task=task).tasks()
    assert message in str(error.value)


@pytest.mark.parametrize(
    "flags", [{"obs_type": "pixel"}, {"observation_height": 0}, {"observation_width": -1}, {"episode_length": 0}]
)
def test_bad_flags_are_refused(flags: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=f"--env.{next(iter(flags))}"):
        AlohaConfig(**flags)  # type: ignore[arg-type]


def test_flags_that_mean_something_else_than_in_lerobot_say_so() -> None:
    assert not AlohaConfig().notes()
    assert len(AlohaConfig(render_mode="human", fps=30).notes()) == 2
    (note,) = AlohaConfig(observation_height=240, observation_width=320).notes()
    assert "240×320" in note
    (note,) = AlohaConfig(obs_type="pixels").notes()
    assert "observation.images.top" in note
