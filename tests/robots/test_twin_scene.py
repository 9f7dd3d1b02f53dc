"""A cube and a box on a twin's table, and a script that puts one into the other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from yardarm.errors import UsageError
from yardarm.robots import GuardOptions, guard, make_teleoperator, robot_from_data, teleoperator_from_data
from yardarm.robots.twins import Stage, Twin, open_door

SCENE = "cube_and_box"
FPS = 30


@pytest.fixture(autouse=True)
def _places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


def twin(**options: Any) -> Twin:
    return Twin("so101_follower", calibrated=True, real_time=False, scene=SCENE, **options)


def cube(own: Twin) -> list[float]:
    return own.angles()[6:]


def session(seed: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "robot": {"type": "so101_follower", "port": "twin", "num_read_retries": 20},
        "teleop": {"type": "scripted_pick_place", **more},
        "twin": {"realtime": "false", "scene": SCENE, "seed": str(seed)},
    }


def play(stage: Stage, data: dict[str, Any], spoil: Any = None) -> tuple[list[dict[str, float]], dict[str, bool]]:
    """One episode: what was observed, and how it ended."""
    robot = guard(robot_from_data(data["robot"]), GuardOptions())
    robot.use_clock(stage.clock)
    leader: Any = teleoperator_from_data(data["teleop"])
    seen = []
    with leader, robot:
        for tick in range(1, 12 * FPS):
            seen.append(robot.get_observation())
            robot.send_action(leader.get_action())
            events = leader.get_teleop_events()
            if events["terminate_episode"]:
                break
            if spoil is not None:
                spoil()
            stage.clock.wait_until(tick / FPS)
        return seen, events


def test_a_seed_says_where_the_cube_lies_and_it_stays_there() -> None:
    with twin(seed=3) as one, twin(seed=3) as same, twin(seed=4) as other:
        assert cube(one) == cube(same)
        assert cube(one) != cube(other)
        began = cube(one)
        one.advance(0.5)
        assert cube(one)[:3] == pytest.approx(began[:3], abs=1e-3)
        assert not one.look().success


def test_a_reset_counts_the_seed_on() -> None:
    with twin(seed=3) as one, twin(seed=4) as other:
        one.advance(0.2)
        one.reset_scene()
        assert cube(one) == cube(other)
        assert one.look().episode == 1
        other.reset_scene(9)
        one.reset_scene(9)
        assert cube(one) == cube(other)


def test_a_cube_that_is_held_or_falls_into_the_box_is_not_there_yet() -> None:
    with twin() as own:
        own.body.data.qpos[6:9] = [0.175, 0.165, 0.06]
        own.advance(0.02)
        assert not own.look().success, "it falls"
        own.advance(1.0)
        assert own.look().success


def test_the_script_puts_the_cube_into_the_box_and_says_so() -> None:
    data = session(seed=7)
    with Stage.from_data(data, "record") as stage:
        seen, events = play(stage, data)
        assert events == {
            "is_intervention": False,
            "terminate_episode": True,
            "success": True,
            "rerecord_episode": False,
        }
        assert 4 * FPS < len(seen) < 8 * FPS
        stage.reset()
        assert not stage.twins["robot"].look().success  # type: ignore[union-attr]


def test_stepped_sessions_are_the_same_to_the_bit() -> None:
    seen, ends = [], []
    for _ in range(2):
        data = session(seed=2)
        with Stage.from_data(data, "record") as stage:
            seen.append(play(stage, data)[0])
            ends.append(stage.twins["robot"].angles())  # type: ignore[union-attr]
    assert seen[0] == seen[1]
    assert ends[0] == ends[1]


def test_an_episode_that_fails_is_to_be_recorded_again() -> None:
    data = session()
    with Stage.from_data(data, "record") as stage:
        own = stage.twins["robot"]
        assert isinstance(own, Twin)

        def take_it_away() -> None:
            own.body.data.qpos[6:9] = [-0.1, -0.3, 0.0125]

        events = play(stage, data, take_it_away)[1]
    assert (events["terminate_episode"], events["success"], events["rerecord_episode"]) == (True, False, True)


def test_after_an_episode_the_arm_goes_home_until_the_scene_is_reset() -> None:
    data = session()
    with Stage.from_data(data, "record") as stage:
        robot = robot_from_data(data["robot"])
        leader: Any = teleoperator_from_data(data["teleop"])
        with leader, robot:
            home = robot.get_observation()
            stage.clock.wait_until(9.0)  # nobody follows it: its time has passed all the same
            leader.get_action()
            assert leader.get_teleop_events()["terminate_episode"]
            stage.clock.wait_until(12.0)
            assert leader.get_action() == pytest.approx(home, abs=0.2)
            stage.reset()
            assert not leader.get_teleop_events()["terminate_episode"]
            leader.get_action()
            stage.clock.wait_until(13.5)
            assert leader.get_action() != pytest.approx(home, abs=5)


def test_the_script_speaks_the_robots_units() -> None:
    data = session()
    data["robot"]["use_degrees"] = "false"
    with Stage.from_data(data, "record"):
        robot, leader = robot_from_data(data["robot"]), teleoperator_from_data(data["teleop"])
        assert leader.action_features == robot.action_features
        with leader, robot:
            assert leader.get_action() == pytest.approx(robot.get_observation(), abs=0.2)


def test_the_script_needs_a_twin_with_the_scene() -> None:
    with pytest.raises(UsageError, match="moves twins only"), make_teleoperator("scripted_pick_place", port="/dev/no"):
        pass
    with Twin("so101_follower", real_time=False) as own:
        leader = make_teleoperator("scripted_pick_place", port=own.port)
        with pytest.raises(UsageError, match=r"start it with --twin\.scene=cube_and_box"):
            leader.connect()


def test_a_twin_elsewhere_has_its_scene_reset_through_the_door() -> None:
    with twin(seed=5) as own:
        data = {"robot": {"type": "so101_follower", "port": own.port}}
        with Stage.from_data(data, "record") as stage:
            assert stage.scene == SCENE
            stage.reset(8)
        door = open_door(own.port)
        assert door is not None
        assert door.state().episode == 1
        door.close()
