"""The flags of the twin's world."""

from __future__ import annotations

import pytest

from yardarm.errors import UsageError
from yardarm.robots import make_robot
from yardarm.tasks.so101_twin import NAMES, So101TwinConfig


def test_a_policy_sees_what_is_recorded_on_an_arm() -> None:
    (task,) = So101TwinConfig(cameras="top, wrist", observation_height=48, observation_width=64).tasks()
    images = {name: own.shape for name, own in task.env.features.items() if own.is_image}
    assert images == {"observation.images.top": (48, 64, 3), "observation.images.wrist": (48, 64, 3)}
    robot = make_robot("so101_follower", port="/dev/no")
    assert list(robot.action_features) == list(task.env.action.names) == list(NAMES)
    assert task.instruction == "Put the cube into the box."


def test_an_episode_lasts_ten_seconds_at_any_rate() -> None:
    assert [(task.fps, task.max_steps) for task in So101TwinConfig().tasks()] == [(30, 300)]
    assert [(task.fps, task.max_steps) for task in So101TwinConfig(fps=10).tasks()] == [(10, 100)]
    assert [task.max_steps for task in So101TwinConfig(fps=10, episode_length=20).tasks()] == [20]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"cameras": "frnt"}, "did you mean 'front'"),
        ({"task": "cube"}, "unknown task 'cube'"),
        ({"observation_height": 0}, "--env.observation_height"),
        ({"episode_length": -1}, "--env.episode_length"),
        ({"fps": 0}, "--env.fps"),
        ({"fps": 501}, "--env.fps must be at most 500"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(flags: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        So101TwinConfig(**flags).tasks()  # type: ignore[arg-type]
