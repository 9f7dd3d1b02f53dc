"""``yardarm find-cameras``, and the cameras of ``yardarm robot info``."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import pytest

from tests.helpers import yardarm_here
from tests.robots.cameras.mjpeg import MjpegServer
from tests.robots.cameras.pictures import HEIGHT, WIDTH, write_video
from tests.robots.twin_port import twin_of
from yardarm.robots.motors import read_calibration_file

CALIBRATION = Path(__file__).parents[1] / "golden" / "robots" / "so101_follower" / "calibration.json"


@pytest.mark.parametrize("command", ["find-cameras", "lerobot-find-cameras", "lerobot_find_cameras"])
def test_a_stream_is_tried_its_picture_saved_and_its_flags_shown(command: str, tmp_path: Path) -> None:
    with MjpegServer(fps=30) as server:
        words = [f"--url={server.url}", f"--output-dir={tmp_path / 'seen'}", "--record-time-s=0.3"]
        done = yardarm_here(command, *words)
        assert done.returncode == 0
        assert f"index_or_path: {server.url}, width: {WIDTH}, height: {HEIGHT}, fps: " in done.stdout
    pictures = list((tmp_path / "seen").glob("*.png"))
    assert len(pictures) == 1
    assert cv2.imread(str(pictures[0])).shape == (HEIGHT, WIDTH, 3)


@pytest.mark.skipif(any(Path("/dev").glob("video*")), reason="this machine has a camera")
def test_without_a_camera_one_line_says_what_to_do() -> None:
    done = yardarm_here("find-cameras", "opencv")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "no camera was found by opencv: is it plugged in? A network camera needs --url=http://… or --url=rtsp://…"
    ]


def test_a_stream_that_is_not_there_is_named(tmp_path: Path) -> None:
    with MjpegServer() as server:
        address = server.url.replace("http://", "http://me:secret@")
    done = yardarm_here("find-cameras", f"--url={address}", f"--output_dir={tmp_path}")
    assert done.returncode == 1
    assert "cannot be opened: nothing answers there" in done.stdout
    assert "secret" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["opencvv"], "'opencvv' is unknown; did you mean 'opencv'?"),
        (["--output=x"], "unknown option '--output'"),
        (["--record-time-s=0"], "--record-time-s must be positive, got 0"),
        (["--url"], "--url needs a value"),
    ],
)
def test_a_mistake_gets_one_line(words: list[str], message: str) -> None:
    done = yardarm_here("find-cameras", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_help_lists_the_options_of_every_type() -> None:
    shown = yardarm_here("find-cameras", "--help").stdout
    for words in ("--output-dir", "options of type: zmq", "index_or_path", "serial_number_or_name", "depth_path"):
        assert words in shown


def test_help_beside_a_camera_lists_its_options() -> None:
    shown = yardarm_here("calibrate", "--robot=so101_follower", "--robot.cameras.top.type=zmq", "--help").stdout
    assert "--robot.cameras.top.server_address" in shown
    assert "--robot.cameras " in shown


def test_robot_info_shows_the_cameras(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(CALIBRATION.read_bytes())
    film = write_video(tmp_path / "film.mp4", [20, 90])
    with twin_of("so101_follower", read_calibration_file(CALIBRATION)) as port:
        words = ["robot", "info", "--robot.type=so101_follower", f"--robot.port={port.path}", "--robot.id=a"]
        words += [f"--robot.calibration_dir={tmp_path}", f"--robot.cameras.side.path={film}"]
        words += ["--robot.cameras.side.type=file", "--robot.cameras.side.width=32", "--robot.cameras.side.height=24"]
        done = yardarm_here(*words, "--robot.cameras.side.fps=5")
        assert f"camera side: file {film}, 32×24 at 5" in done.stdout
        report = json.loads(yardarm_here(*words, "--robot.cameras.side.fps=5", "--json").stdout)
        assert report["cameras"][0]["problem"] == ""
        wrong = yardarm_here(*[word.replace("width=32", "width=64") for word in words], "--robot.cameras.side.fps=5")
        assert wrong.returncode == 1
        assert "✗ camera 'side' (file " in wrong.stdout
        assert "it gives 32×24, not 64×24 as asked for" in wrong.stdout
