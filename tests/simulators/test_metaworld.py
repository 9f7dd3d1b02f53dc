"""Meta-World behaves as in LeRobot, and an episode does not know what ran before it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests.helpers import GOLDEN
from tests.simulators.acting import Actor, assert_same_picture
from yardarm.tasks.metaworld import MetaworldConfig
from yardarm.tasks.metaworld_catalogue import OPPOSITES

# The goal marker of push-v3's first frame, which LeRobot draws where the last episode left it.
MARKER = (slice(100, 300), slice(150, 400))


@pytest.fixture
def actor(request: pytest.FixtureRequest) -> Iterator[Actor]:
    (task,) = MetaworldConfig(task=request.param).tasks()
    actor = Actor(task)
    yield actor
    actor.pool.close()


def assert_same_raw_values(seen: dict[str, np.ndarray], expected: np.ndarray) -> None:
    raw = seen["observation.environment_state"]
    # The expert that recorded door-open-v3 wrote into what it was shown: the door's x is 0.05 less there.
    others = np.arange(39) != 4
    np.testing.assert_allclose(raw[others], expected[others], atol=1e-9)
    np.testing.assert_allclose(raw[4], expected[4], atol=0.05 + 1e-9)


def marker_centre(frame: np.ndarray) -> np.ndarray:
    """Where the green goal marker is, in pixels."""
    red, green, blue = np.moveaxis(frame.astype(int), -1, 0)
    return np.argwhere((green > 80) & (red < green / 3) & (blue < green / 3)).mean(axis=0)


def without_marker(frame: np.ndarray) -> np.ndarray:
    frame = frame.copy()
    frame[MARKER] = 0
    return frame


@pytest.mark.parametrize("actor", ["reach-v3", "push-v3", "door-open-v3"], indirect=True)
def test_episodes_go_as_in_lerobot(actor: Actor) -> None:
    golden = np.load(GOLDEN / "metaworld" / f"{actor.task.name}.npz")
    assert actor.task.instruction == str(golden["instruction"])
    for seed in (1000, 1001):
        trace = {name: golden[f"seed{seed}.{name}"] for name in ("actions", "rewards", "success", "frame0", "frame30")}
        first = actor.begin(seed)
        np.testing.assert_allclose(first["observation.state"], golden[f"seed{seed}.agent_pos"][0], atol=1e-9)
        assert_same_raw_values(first, golden[f"seed{seed}.observation39"][0])
        mask = without_marker if actor.task.name == "push-v3" else np.asarray
        assert_same_picture(mask(first["observation.image"]), mask(trace["frame0"]))
        later = actor.play(trace["actions"][:30])
        assert_same_raw_values(later, golden[f"seed{seed}.observation39"][30])
        assert_same_picture(later["observation.image"], trace["frame30"])
        rollout = actor.play_to_the_end(trace["actions"][30:])
        np.testing.assert_allclose(rollout.rewards, trace["rewards"], atol=1e-6)
        assert rollout.success == trace["success"].any()
        assert len(rollout.rewards) == len(trace["rewards"])


@pytest.mark.parametrize("actor", ["push-v3", "push-back-v3"], indirect=True)
def test_the_first_frame_does_not_show_the_last_episodes_goal(actor: Actor) -> None:
    fresh = actor.begin(1000)["observation.image"]
    actor.begin(1007)
    actor.play(np.full((5, 4), 0.5, np.float32), wanted=())
    np.testing.assert_array_equal(actor.begin(1000)["observation.image"], fresh)


@pytest.mark.parametrize("actor", ["push-v3"], indirect=True)
def test_the_first_frame_shows_this_episodes_goal(actor: Actor) -> None:
    actor.begin(1007)
    first = actor.begin(1000)["observation.image"]
    later = actor.play(np.zeros((1, 4), np.float32))["observation.image"]
    np.testing.assert_allclose(marker_centre(first), marker_centre(later), atol=1)


@pytest.mark.parametrize("actor", ["reach-v3"], indirect=True)
def test_unwanted_inputs_are_not_rendered(actor: Actor) -> None:
    actor.begin(1000, wanted=("observation.state",))
    assert not actor.worker.looks[0]["observation.image"].any()


@pytest.mark.parametrize("pair", [OPPOSITES[:2], OPPOSITES[2:]])
def test_opposite_tasks_can_start_from_the_same_scenes(pair: tuple[str, str]) -> None:
    starts = []
    for task in MetaworldConfig(task=",".join(pair), alike=True, observation_height=48, observation_width=48).tasks():
        actor = Actor(task)
        starts.append([actor.begin(seed) for seed in (1000, 1001)])
        actor.pool.close()
    for one, other in zip(*starts, strict=True):
        for name in ("observation.image", "observation.state"):
            np.testing.assert_array_equal(one[name], other[name])
    assert (starts[0][0]["observation.image"] != starts[0][1]["observation.image"]).any()


def test_shadows_can_be_left_out() -> None:
    frames = []
    for shadows in (True, False):
        (task,) = MetaworldConfig(
            task="drawer-open-v3", shadows=shadows, observation_height=48, observation_width=48
        ).tasks()
        actor = Actor(task)
        frames.append(actor.begin(1000)["observation.image"].astype(int))
        actor.pool.close()
    assert (frames[0] != frames[1]).any()
