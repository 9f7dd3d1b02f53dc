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
    assert task.fps == 30
    assert task.instruction == "Put the cube into the box."


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"cameras": "frnt"}, "did you mean 'front'"),
        ({"task": "cube"}, "unknown task 'cube'"),
        ({"observation_height": 0}, "--env.observation_height"),
        ({"episode_length": -1}, "--env.episode_length"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(flags: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        So101TwinConfig(**flags).tasks()  # type: ignore[arg-type]
