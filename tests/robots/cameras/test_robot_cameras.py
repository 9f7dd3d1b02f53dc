"""Cameras of robots: their flags, their features, and what happens to the arm when one fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.robots.cameras.mjpeg import MjpegServer
from tests.robots.cameras.pictures import HEIGHT, WIDTH, HandClock, plain, wait_for, write_pictures, write_video
from tests.robots.twin_port import twin_of
from yardarm.config import FlagText
from yardarm.errors import CameraFault, StaleFrame, UsageError
from yardarm.robots import GuardOptions, Robot, dataset_features, guard, make_robot, make_teleoperator
from yardarm.robots.motors import read_calibration_file

GOLDENS = Path(__file__).parents[2] / "golden" / "robots"
ROBOTS = json.loads((GOLDENS / "features.json").read_text())["robots"]
CALIBRATION = GOLDENS / "so101_follower" / "calibration.json"
TORQUE = 40
FRONT = {"type": "opencv", "index_or_path": 0, "width": 640, "height": 480, "fps": 30}
WRIST = {"type": "opencv", "index_or_path": "/dev/video2", "width": 480, "height": 640, "fps": 30, "rotation": 90}
BOTH = {"front": FRONT, "wrist": WRIST}


def as_recorded(type: str) -> Robot:
    """A robot with the cameras that LeRobot's had."""
    if type == "bi_so_follower":
        left = {"port": "/dev/left", "cameras": BOTH}
        return make_robot(type, id="two", left_arm_config=left, right_arm_config={"port": "/dev/right"})
    has_cameras = "front" in ROBOTS[type]["observation_features"]
    return make_robot(type, port="/dev/none", cameras=BOTH if has_cameras else {})


def plain_features(features: Any) -> list[Any]:
    return [(name, "float" if kind is float else list(kind)) for name, kind in features.items()]


@pytest.mark.parametrize("type", ["so101_follower", "koch_follower", "omx_follower", "bi_so_follower"])
def test_a_robot_with_cameras_has_lerobots_features(type: str) -> None:
    assert plain_features(as_recorded(type).observation_features) == list(ROBOTS[type]["observation_features"].items())


@pytest.mark.parametrize("type", ["so101_follower", "koch_follower", "omx_follower", "bi_so_follower"])
def test_a_dataset_of_a_robot_has_lerobots_features(type: str) -> None:
    found, recorded = dataset_features(as_recorded(type)), ROBOTS[type]["dataset"]
    assert found == recorded
    assert [*found] == [*recorded]


def test_without_videos_pictures_are_images_and_depth_is_never_a_video() -> None:
    deep = {"type": "file", "path": "x", "depth_path": "y", "fps": 30, "width": 640, "height": 480}
    robot = make_robot("so101_follower", port="x", cameras={"front": deep})
    of_images = dataset_features(robot, use_videos=False)
    assert of_images["observation.images.front"]["dtype"] == "image"
    for features in (of_images, dataset_features(robot)):
        depth = features["observation.images.front_depth"]
        assert (depth["dtype"], depth["shape"]) == ("image", [480, 640, 1])
        assert depth["info"] == {"is_depth_map": True, "depth_unit": "mm"}


def test_the_cameras_of_a_pair_bear_the_arms_name_and_others_their_own() -> None:
    robot = make_robot(
        "bi_so_follower",
        id="two",
        left_arm_config={"port": "/dev/left", "cameras": {"wrist": FRONT}},
        right_arm_config={"port": "/dev/right", "cameras": {"wrist": WRIST}},
        cameras={"top": FRONT},
    )
    assert [*robot.cameras] == ["left_wrist", "right_wrist", "top"]
    assert [*robot.observation_features][-3:] == ["left_wrist", "right_wrist", "top"]
    assert robot.observation_features["right_wrist"] == (640, 480, 3)


def test_a_twins_camera_on_an_arm_of_a_pair_shows_that_arms_twin() -> None:
    sim = {"type": "sim", "width": 48, "height": 36, "fps": 30}
    left = {"port": "/dev/left", "cameras": {"front": sim}}
    robot = make_robot("bi_so_follower", id="two", left_arm_config=left, right_arm_config={"port": "/dev/right"})
    with pytest.raises(CameraFault, match="there is no twin on '/dev/left'"):
        robot.cameras["left_front"].connect()


def test_cameras_are_given_as_a_map_and_by_dotted_flags() -> None:
    text = FlagText("{ front: {type: opencv, index_or_path: 0, width: 640, height: 480, fps: 30} }")
    robot = make_robot(
        "so101_follower", port="x", **{"cameras": text, "cameras.front.fps": FlagText("15"), **dotted("side", FRONT)}
    )
    assert robot.cameras["front"].config.fps == 15
    assert robot.cameras["side"].config.index_or_path == 0
    assert robot.cameras["side"].name == "side"


def dotted(name: str, options: dict[str, Any]) -> dict[str, FlagText]:
    return {f"cameras.{name}.{option}": FlagText(value) for option, value in options.items()}


@pytest.mark.parametrize(
    ("cameras", "message"),
    [
        (
            {"front": {**FRONT, "type": "opncv"}},
            "--robot.cameras.front: unknown camera 'opncv'; did you mean 'opencv'?",
        ),
        ({"front": {**FRONT, "widht": 1}}, "unknown option '--robot.cameras.front.widht'; did you mean 'width'?"),
        ({"front": {**FRONT, "width": "wide"}}, "--robot.cameras.front.width must be a whole number, got 'wide'"),
        ({"front": {"type": "opencv", "fps": 30}}, "--robot.cameras.front needs width, height, as every camera"),
        ({"front": {**FRONT, "rotation": 45}}, "--robot.cameras.front: rotation must be 0, 90, 180 or -90"),
        ({"front": {"index_or_path": 0}}, "--robot.cameras.front.type is missing; use one of file, "),
        ({"front": "opencv"}, "--robot.cameras.front must have options"),
        (["front"], "--robot.cameras must be a map of cameras, such as {front: "),
        ({"front cam": FRONT}, "a camera cannot be called 'front cam'"),
        (
            {"a": {**FRONT, "type": "file", "path": "x", "depth_path": "y", "index_or_path": None}, "a_depth": FRONT},
            "unknown option '--robot.cameras.a.index_or_path'",
        ),
    ],
)
def test_a_mistake_is_named_before_anything_connects(cameras: Any, message: str) -> None:
    with pytest.raises(UsageError) as error:
        make_robot("so101_follower", port="x", cameras=cameras)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_two_cameras_cannot_give_the_same() -> None:
    deep = {"type": "file", "path": "x", "depth_path": "y", "fps": 30, "width": 4, "height": 4}
    with pytest.raises(UsageError, match="two cameras would give 'a_depth'"):
        make_robot("so101_follower", port="x", cameras={"a": deep, "a_depth": deep})


def test_a_leader_has_no_cameras() -> None:
    with pytest.raises(UsageError, match=r"--teleop.cameras: this type has no cameras; omit it"):
        make_teleoperator("so101_leader", port="x", cameras=BOTH)


def arm(port: str, folder: Path, **cameras: Any) -> Robot:
    """A calibrated SO-101 on a twin's motors."""
    folder.mkdir(exist_ok=True)
    (folder / "a.json").write_bytes(CALIBRATION.read_bytes())
    return make_robot("so101_follower", port=port, id="a", calibration_dir=folder, cameras=cameras)


def film(path: Path, **options: Any) -> dict[str, Any]:
    return {"type": "file", "path": str(path), "width": WIDTH, "height": HEIGHT, "fps": 30, **options}


def test_an_observation_has_joints_and_pictures_with_their_times(tmp_path: Path) -> None:
    side = film(write_video(tmp_path / "side.mp4", [50, 100]))
    distances = [np.full((HEIGHT, WIDTH), 700, np.uint16)]
    deep = film(write_pictures(tmp_path / "color", [plain(30)]))
    deep["depth_path"] = str(write_pictures(tmp_path / "depth", distances))
    with twin_of("so101_follower", read_calibration_file(CALIBRATION)) as port:
        robot = guard(arm(port.path, tmp_path / "arms", side=side, deep=deep), GuardOptions())
        with robot:
            before = robot.clock.now()
            reading = robot.observe()
            assert [*reading.values] == [*robot.observation_features]
            assert [*reading.frames] == ["side", "deep", "deep_depth"]
            assert before <= reading.joints_s <= robot.clock.now()
            assert reading.values["side"] is reading.frames["side"].picture
            assert reading.frames["deep_depth"].picture.max() == 700
            assert {name: value.shape for name, value in reading.values.items() if name in reading.frames} == {
                name: robot.observation_features[name] for name in reading.frames
            }
            assert robot.get_observation().keys() == reading.values.keys()
        assert not any(camera.is_connected for camera in robot.cameras.values())


def test_a_camera_that_fails_to_connect_releases_the_arm_and_closes_the_others(tmp_path: Path) -> None:
    good = film(write_video(tmp_path / "good.mp4", [50]))
    with twin_of("so101_follower", read_calibration_file(CALIBRATION)) as port:
        robot = arm(port.path, tmp_path / "arms", good=good, bad=film(tmp_path / "none.mp4"))
        for servo in port.chain.servos:
            servo.memory[TORQUE] = 1
        with pytest.raises(CameraFault, match=r"camera 'bad' \(file .*none.mp4\) cannot be opened"):
            robot.connect()
        assert not robot.is_connected
        assert not robot.cameras["good"].is_connected
        assert [servo.memory[TORQUE] for servo in port.chain.servos] == [0] * 6


def test_get_observation_refuses_what_observe_only_dates(tmp_path: Path) -> None:
    with MjpegServer() as server, twin_of("so101_follower", read_calibration_file(CALIBRATION)) as port:
        front = {**FRONT, "index_or_path": server.url, "width": WIDTH, "height": HEIGHT, "warmup_s": 0}
        with arm(port.path, tmp_path / "arms", front=front) as robot:
            robot.get_observation()
            server.die()
            wait_for(lambda: robot.clock.now() - robot.observe().frames["front"].captured_s > 0.5)
            with pytest.raises(StaleFrame, match=r"camera 'front'.*ms old, more than 500 ms"):
                robot.get_observation()


def test_one_clock_is_for_all_parts(tmp_path: Path) -> None:
    clock = HandClock()
    with twin_of("so101_follower", read_calibration_file(CALIBRATION)) as port:
        side = film(write_video(tmp_path / "side.mp4", [50, 100, 150]), fps=10)
        robot = guard(arm(port.path, tmp_path / "arms", side=side), GuardOptions())
        robot.use_clock(clock)
        with robot:
            clock.time += 0.1
            reading = robot.observe()
            assert reading.joints_s == clock.now()
            assert reading.frames["side"].captured_s == pytest.approx(clock.now())
