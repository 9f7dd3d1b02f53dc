from __future__ import annotations

import pytest

from yardarm.errors import UsageError
from yardarm.tasks.pusht import PushtConfig


def test_the_task_is_numbered_as_lerobot_does() -> None:
    (task,) = PushtConfig().tasks()
    assert (task.group, task.index, task.name) == ("pusht", 0, "PushT-v0")
    assert (task.max_steps, task.fps) == (300, 10)
    assert (task.env.action.size, task.env.action.low, task.env.action.high) == (2, 0, 512)
    assert PushtConfig.catalogue() == (task,) == PushtConfig(task=" PushT-v0,PushT-v0").tasks()


def test_policies_see_what_lerobot_really_shows_them() -> None:
    (task,) = PushtConfig().tasks()
    assert {name: feature.shape for name, feature in task.env.features.items()} == {
        "observation.image": (96, 96, 3),
        "observation.state": (2,),
    }
    assert not PushtConfig().notes()


def test_other_sizes_are_shown_with_a_note() -> None:
    config = PushtConfig(observation_height=384, observation_width=384)
    (task,) = config.tasks()
    assert task.env.features["observation.image"].shape == (384, 384, 3)
    (note,) = config.notes()
    assert "384×384" in note
    assert "LeRobot ignores them" in note


def test_obs_type_decides_what_is_offered() -> None:
    def offered(obs_type: str) -> dict[str, tuple[int, ...]]:
        (task,) = PushtConfig(obs_type=obs_type).tasks()
        return {name.removeprefix("observation."): feature.shape for name, feature in task.env.features.items()}

    assert offered("pixels") == {"image": (96, 96, 3)}
    assert offered("environment_state_agent_pos") == {"environment_state": (16,), "state": (2,)}
    assert offered("state") == {"state": (5,)}


def test_what_changes_an_episode_is_part_of_its_identity() -> None:
    (usual,) = PushtConfig().tasks()
    for flags in ({"episode_length": 10}, {"observation_width": 100}, {"obs_type": "state"}):
        (other,) = PushtConfig(**flags).tasks()  # type: ignore[arg-type]
        assert other.key() != usual.key()
    (same,) = PushtConfig(fps=20, visualization_width=100).tasks()
    assert same.key() == usual.key()


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("PushT-v1", "unknown task 'PushT-v1'; did you mean 'PushT-v0'? use one of PushT-v0"),
        ("reach", "unknown task 'reach'; use one of PushT-v0"),
        (" , ", "--env.task is empty"),
    ],
)
def test_unknown_tasks_are_refused_with_what_to_do(task: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        PushtConfig(task=task).tasks()
    assert message in str(error.value)


@pytest.mark.parametrize(
    "flags", [{"obs_type": "pixel"}, {"observation_height": 0}, {"observation_width": -1}, {"episode_length": 0}]
)
def test_bad_flags_are_refused(flags: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=f"--env.{next(iter(flags))}"):
        PushtConfig(**flags)  # type: ignore[arg-type]


def test_flags_that_do_nothing_say_so() -> None:
    config = PushtConfig(render_mode="human", fps=30, visualization_height=100, visualization_width=100)
    assert len(config.notes()) == 4
