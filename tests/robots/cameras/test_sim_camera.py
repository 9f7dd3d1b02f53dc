"""A camera of the twin's scene: drawn from the state of a known time, and the same each time where time waits."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from tests.helpers import descendants, wait_until
from yardarm.errors import CameraFault, UsageError
from yardarm.robots import make_robot, robot_from_data, teleoperator_from_data
from yardarm.robots.cameras import CAMERAS, make_camera
from yardarm.robots.twins import Stage, Twin, TwinTime, painter

SMALL = {"type": "sim", "width": 48, "height": 36}


@pytest.fixture(autouse=True)
def _places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))


def session(**cameras: Any) -> dict[str, Any]:
    robot = {"type": "so101_follower", "port": "twin", "num_read_retries": 20, "cameras": cameras}
    twin = {"realtime": "false", "scene": "cube_and_box"}
    return {"robot": robot, "teleop": {"type": "scripted_pick_place"}, "twin": twin}


def play(turns: int, **cameras: Any) -> list[Any]:
    """What a loop at 30 Hz sees, with its times."""
    data, seen = session(**cameras), []
    with Stage.from_data(data, "record") as stage:
        robot, leader = robot_from_data(data["robot"]), teleoperator_from_data(data["teleop"])
        robot.use_clock(stage.clock)
        with leader, robot:
            for turn in range(1, turns + 1):
                seen.append(robot.observe())
                robot.send_action(leader.get_action())
                stage.clock.wait_until(turn / 30)
    return seen


def test_where_time_waits_pictures_are_the_same_to_the_bit() -> None:
    cameras = {"front": {**SMALL, "fps": 30}, "wrist": {**SMALL, "camera": "wrist", "fps": 15}}
    first, second = play(12, **cameras), play(12, **cameras)
    for one, other in zip(first, second, strict=True):
        assert one.values.keys() == other.values.keys()
        for name, value in one.values.items():
            np.testing.assert_array_equal(value, other.values[name])
        assert {name: frame.captured_s for name, frame in one.frames.items()} == {
            name: frame.captured_s for name, frame in other.frames.items()
        }
    assert [reading.frames["front"].number for reading in first] == list(range(12))
    assert [reading.frames["wrist"].number for reading in first] == [turn // 2 for turn in range(12)]
    ages = [reading.joints_s - reading.frames["front"].captured_s for reading in first]
    assert all(0 <= age < 0.002 + 1e-6 for age in ages), ages
    assert (first[0].values["front"] != first[-1].values["front"]).any(), "the arm moves"


def test_in_real_time_the_newest_state_is_drawn_with_its_time() -> None:
    with Twin("koch_follower") as twin:
        camera = make_camera("sim", width=48, height=36, fps=30)
        camera.belongs_to(twin.port)
        with camera:
            before = camera.latest()
            twin.hold({"shoulder_lift": 60.0, "shoulder_pan": 40.0})
            wait_until(lambda: (camera.latest().picture != before.picture).any())
            after = camera.latest()
            assert before.captured_s < after.captured_s <= camera.clock.now()
            assert after.number > before.number


def test_a_twin_that_ends_makes_a_camera_old_and_not_blind() -> None:
    with Twin("koch_follower") as twin:
        camera = make_camera("sim", port=twin.port, width=48, height=36, fps=30)
        camera.connect()
    try:
        last = camera.latest()
        wait_until(lambda: camera.status().is_stalled)
        assert camera.latest().captured_s >= last.captured_s
        with pytest.raises(TimeoutError):
            camera.read_latest(max_age_ms=1)
    finally:
        camera.disconnect()


def easels() -> list[psutil.Process]:
    """The processes that draw."""
    return [process for process in descendants(os.getpid()) if "twins.easel" in " ".join(process.cmdline())]


@pytest.mark.parametrize(("real_time", "politeness"), [(True, 10), (False, 0)])
def test_drawing_gives_way_unless_somebody_stands_still_for_it(real_time: bool, politeness: int) -> None:
    with Twin("koch_follower", real_time=real_time) as twin:
        camera = make_camera("sim", port=twin.port, width=48, height=36)
        if not real_time:
            camera.clock = TwinTime([twin])
        with camera:
            assert [process.nice() - psutil.Process().nice() for process in easels()] == [politeness]


def test_cameras_of_one_twin_share_a_process_that_ends_with_them() -> None:
    with Twin("koch_follower", real_time=False) as twin:
        clock = TwinTime([twin])
        cameras = [make_camera("sim", port=twin.port, width=48, height=36, camera=name) for name in ("front", "wrist")]
        for camera in cameras:
            camera.clock = clock
            camera.connect()
        assert len(easels()) == 1
        assert (cameras[0].read() != cameras[1].read()).any()
        cameras[0].disconnect()
        assert len(easels()) == 1
        cameras[1].disconnect()
        assert not easels()


def test_cameras_that_share_a_process_come_back_when_it_is_killed() -> None:
    with Twin("koch_follower") as twin:
        cameras = [make_camera("sim", port=twin.port, width=48, height=36, camera=name) for name in ("front", "wrist")]
        with cameras[0], cameras[1]:
            for process in easels():
                process.kill()
            wait_until(lambda: all(camera.status().restarts for camera in cameras))
            wait_until(lambda: not any(camera.status().is_stalled for camera in cameras))
    assert not painter._SHARED


def test_a_machine_that_cannot_draw_says_so_and_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "nothing")
    message = r"camera 'sim' \(sim front\) cannot be opened: pictures cannot be drawn"
    with Twin("koch_follower", real_time=False) as twin, pytest.raises(CameraFault, match=message):
        make_camera("sim", port=twin.port).connect()
    assert not painter._SHARED


def test_mistakes_are_said_in_one_line() -> None:
    with pytest.raises(UsageError, match=r"camera.*front, top, wrist"):
        make_camera("sim", camera="back")
    with pytest.raises(UsageError, match="at most 1280×960 pixels, not 1920×1080"):
        make_camera("sim", width=1920, height=1080)
    with pytest.raises(UsageError, match="fps, width and height are needed"):
        make_camera("sim", width=None, height=None)
    with pytest.raises(CameraFault, match="there is no twin on '/dev/no'"):
        make_camera("sim", port="/dev/no").connect()
    assert "sim" in CAMERAS.names()


def test_features_are_known_without_a_twin() -> None:
    robot = make_robot("so101_follower", port="/dev/no", cameras={"top": {**SMALL, "camera": "top"}})
    assert robot.observation_features["top"] == (36, 48, 3)
