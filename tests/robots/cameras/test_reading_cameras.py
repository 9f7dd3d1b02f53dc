"""LeRobot's ways of reading a camera, on files that are played as cameras."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.robots.cameras.pictures import (
    HEIGHT,
    WIDTH,
    HandClock,
    level_of,
    plain,
    wait_for,
    write_pictures,
    write_video,
)
from yardarm.errors import AlreadyConnected, CameraFault, NoFrameYet, NotConnected, StaleFrame, UsageError
from yardarm.robots.cameras import Camera, make_camera
from yardarm.robots.cameras.file import FileCamera, FileCameraConfig
from yardarm.robots.cameras.opencv import shown_address

GOLDEN = np.load(Path(__file__).parents[2] / "golden" / "robots" / "camera.npz")
LEVELS = [20, 40, 60, 80, 100]


def by_hand(clock: HandClock, **options: Any) -> FileCamera:
    """A file camera on a clock that only passes when it is told to."""
    return FileCamera(FileCameraConfig(**options), name="front", clock=clock)


@pytest.fixture
def film(tmp_path: Path) -> Path:
    return write_video(tmp_path / "film.mp4", LEVELS, fps=10)


@pytest.mark.parametrize("color_mode", ["rgb", "bgr"])
@pytest.mark.parametrize("rotation", [0, 90, 180, -90])
def test_colours_and_turns_are_lerobots(color_mode: str, rotation: int, tmp_path: Path) -> None:
    folder = write_pictures(tmp_path / "pictures", [GOLDEN["bgr_from_device"]])
    wanted = GOLDEN[f"{color_mode}_{rotation}"]
    options = {"path": folder, "fps": 30, "color_mode": color_mode, "rotation": rotation}
    with make_camera("file", height=wanted.shape[0], width=wanted.shape[1], **options) as camera:
        np.testing.assert_array_equal(camera.latest().picture, wanted)
        assert camera.features() == {"file": wanted.shape}


def test_270_degrees_are_minus_90() -> None:
    assert FileCameraConfig(path=Path("x"), rotation=270).rotation == -90


def test_a_read_waits_for_the_next_picture(film: Path) -> None:
    with make_camera("file", path=film) as camera:
        before = camera.latest()
        camera.read()
        assert camera.latest().number > before.number


def test_async_read_gives_each_picture_once(film: Path) -> None:
    clock = HandClock()
    camera = by_hand(clock, path=film)
    camera.connect()
    assert level_of(camera.async_read()) == pytest.approx(20, abs=3)
    began = clock.now()
    assert level_of(camera.async_read(timeout_ms=150)) == pytest.approx(40, abs=3)  # it waited for it
    assert clock.now() - began == pytest.approx(0.1)


def test_async_read_names_the_camera_and_the_age_when_nothing_comes(tmp_path: Path) -> None:
    clock = HandClock()
    camera = by_hand(clock, path=write_video(tmp_path / "slow.mp4", LEVELS, fps=1))
    camera.connect()
    camera.async_read()
    with pytest.raises(
        TimeoutError, match=r"camera 'front' \(file .*no new picture within 200 ms; its newest is 200 ms"
    ):
        camera.async_read()


def test_read_latest_refuses_an_old_picture(tmp_path: Path) -> None:
    clock = HandClock()
    camera = by_hand(clock, path=write_video(tmp_path / "slow.mp4", LEVELS, fps=1))
    camera.connect()
    clock.time += 0.4
    assert camera.read_latest().shape == (HEIGHT, WIDTH, 3)
    clock.time += 0.2
    with pytest.raises(StaleFrame, match="600 ms old, more than 500 ms"):
        camera.read_latest()
    assert camera.read_latest(max_age_ms=1000).shape == (HEIGHT, WIDTH, 3)
    assert clock.now() - camera.latest().captured_s == pytest.approx(0.6)  # the frame itself says how old it is


class NeverReady(FileCamera):
    """Opened, and silent."""

    def next_picture(self, stopping: Any) -> None:
        stopping.wait(0.01)


def test_a_camera_without_a_picture_says_so(film: Path) -> None:
    camera = NeverReady(FileCameraConfig(path=film))
    camera.connect(warmup=False)
    try:
        with pytest.raises(RuntimeError, match="has not given a picture yet"):
            camera.read_latest()
        with pytest.raises(NoFrameYet):
            camera.latest()
        with pytest.raises(TimeoutError, match="it has given none yet"):
            camera.async_read(timeout_ms=10)
        assert camera.status().age_s is None
    finally:
        camera.disconnect()


class Breaking(FileCamera):
    """A device whose library fails in a way that nobody thought of."""

    is_broken = False

    def next_picture(self, stopping: Any) -> Any:
        if self.is_broken:
            raise ZeroDivisionError("deep inside")
        return super().next_picture(stopping)


def test_whatever_goes_wrong_in_a_device_it_is_tried_again(film: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Breaking(FileCameraConfig(path=film), name="front") as camera:
        camera.is_broken = True
        wait_for(lambda: camera.status().restarts)
        assert "(ZeroDivisionError: deep inside); restarting it" in caplog.text
        camera.is_broken = False
        wait_for(lambda: not camera.status().is_stalled)


class Stuck(Breaking):
    """One that cannot even be closed."""

    def close_device(self) -> None:
        super().close_device()
        if self.is_broken:
            raise OSError("no such device")


def test_a_device_that_cannot_be_closed_is_opened_again_all_the_same(
    film: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Stuck(FileCameraConfig(path=film), name="front") as camera:
        camera.is_broken = True
        wait_for(lambda: camera.status().restarts >= 2)
        camera.is_broken = False
        wait_for(lambda: not camera.status().is_stalled)
    assert "camera 'front'" in caplog.text
    assert "could not be closed: OSError: no such device" in caplog.text


class HalfOpen(FileCamera):
    """Fails when half of it is open."""

    def open_device(self) -> None:
        super().open_device()
        raise CameraFault("the light is off")


def test_a_camera_that_cannot_be_opened_is_closed(film: Path) -> None:
    camera = HalfOpen(FileCameraConfig(path=film))
    with pytest.raises(CameraFault, match="cannot be opened: the light is off"):
        camera.connect()
    assert camera._color is None


class Drawn(FileCamera):
    """Its pictures are computed, so two may be the same."""

    has_noise = False


def test_only_what_has_noise_can_look_frozen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yardarm.robots.cameras.shots.FROZEN_S", 0.0)
    still = FileCameraConfig(path=write_pictures(tmp_path / "pictures", [plain(9)]), fps=100)
    with FileCamera(still) as real, Drawn(still) as drawn:
        wait_for(lambda: real.status().is_frozen and drawn.status().frames > 20)
        assert not drawn.status().is_frozen


def test_calls_in_the_wrong_state_are_refused(film: Path) -> None:
    camera = make_camera("file", path=film)
    for call in (camera.read, camera.async_read, camera.read_latest, camera.latest, camera.status, camera.disconnect):
        with pytest.raises(NotConnected, match=r"camera 'file' .* is not connected"):
            call()
    with camera:
        assert camera.is_connected
        with pytest.raises(AlreadyConnected):
            camera.connect()
    assert not camera.is_connected


def test_a_camera_can_be_connected_again(film: Path) -> None:
    camera = make_camera("file", path=film)
    for _ in range(2):
        with camera:
            assert camera.latest().number >= 0


def test_warming_up_takes_its_time(film: Path) -> None:
    began = time.monotonic()
    with make_camera("file", path=film, warmup_s=0.3):
        assert time.monotonic() - began >= 0.3


# Files.


def shown(camera: Camera, clock: HandClock, times: list[float]) -> list[tuple[int, float]]:
    """What a camera shows at some times after its start, and since when."""
    began, seen = clock.time, []
    for seconds in times:
        clock.time = began + seconds
        frame = camera.latest()
        seen.append((round(level_of(frame.picture) / 20) * 20, round(frame.captured_s - began, 3)))
    return seen


def test_a_video_is_played_by_the_clock_and_loops(film: Path) -> None:
    clock = HandClock()
    camera = by_hand(clock, path=film)
    camera.connect()
    seen = shown(camera, clock, [0.0, 0.05, 0.1, 0.39, 0.4, 0.5, 0.62, 1.2])
    assert seen == [(20, 0.0), (20, 0.0), (40, 0.1), (80, 0.3), (100, 0.4), (20, 0.5), (40, 0.6), (60, 1.2)]


@pytest.mark.parametrize("kind", ["video", "pictures"])
def test_a_file_can_hold_its_last_picture(kind: str, film: Path, tmp_path: Path) -> None:
    path = film if kind == "video" else write_pictures(tmp_path / "pictures", [plain(level) for level in LEVELS])
    clock = HandClock()
    camera = by_hand(clock, path=path, fps=20, at_end="hold")  # twice as fast as the video says
    camera.connect()
    assert shown(camera, clock, [0.1, 0.25, 9.0]) == [(60, 0.1), (100, 0.25), (100, 9.0)]


def test_pictures_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    folder = write_pictures(tmp_path / "pictures", [plain(level * 10) for level in range(12)])  # frame-2, frame-10
    clock = HandClock()
    camera = by_hand(clock, path=folder, fps=10)
    camera.connect()
    levels = []
    for turn in range(12):
        clock.time = 1000.0 + turn / 10
        levels.append(level_of(camera.latest().picture))
    assert levels == [level * 10 for level in range(12)]


def test_depth_is_16_bits_in_millimetres(tmp_path: Path) -> None:
    distances = [np.arange(HEIGHT * WIDTH, dtype=np.uint16).reshape(HEIGHT, WIDTH) * 80 + turn for turn in range(3)]
    depth = write_pictures(tmp_path / "depth", distances)
    color = write_pictures(tmp_path / "color", [plain(level) for level in LEVELS[:3]])
    with make_camera(
        "file", path=color, depth_path=depth, fps=30, width=HEIGHT, height=WIDTH, rotation=90, at_end="hold"
    ) as camera:
        wait_for(lambda: camera.latest().number >= 2)
        frames = camera.frames()
        assert frames["file"].number == frames["file_depth"].number
        found = frames["file_depth"].picture
        assert found.dtype == np.uint16
        np.testing.assert_array_equal(found[:, :, 0], np.rot90(distances[2], -1))
        assert camera.read_depth().shape == (WIDTH, HEIGHT, 1)
    assert camera.features() == {"file": (WIDTH, HEIGHT, 3), "file_depth": (WIDTH, HEIGHT, 1)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 640, "height": 480}, "it gives 32×24, not 640×480 as asked for; set width and height to it"),
        ({"width": 32, "height": 24, "rotation": 90}, "it gives 32×24, not 24×32 before it is turned"),
        ({"path": "none.mp4"}, "there is no file or folder"),
        ({"path": "empty"}, "has no pictures"),
        ({"path": "noise.mp4"}, "is no video that can be read"),
        ({"path": "pictures"}, "its rate is not known; give fps"),
        ({"depth_path": "none"}, "there is no folder"),
        ({"path": None, "depth_path": "pictures", "fps": 5}, "must have one channel of 16 bits"),
    ],
)
def test_a_file_that_cannot_be_a_camera_is_named(options: dict[str, Any], message: str, film: Path) -> None:
    (film.parent / "empty").mkdir()
    (film.parent / "noise.mp4").write_bytes(b"noise" * 100)
    write_pictures(film.parent / "pictures", [plain(9)])
    paths = {key: film.parent / path for key, path in options.items() if "path" in key and path}
    camera = FileCamera(FileCameraConfig(**{"path": film, **options, **paths}), name="front")
    with pytest.raises(CameraFault) as error:
        camera.connect()
    assert message in str(error.value)
    assert "camera 'front' (file " in str(error.value)
    assert not camera.is_connected


@pytest.mark.parametrize(
    ("type", "options", "message"),
    [
        ("file", {}, "path is missing"),
        ("file", {"path": "x", "at_end": "lop"}, "at_end 'lop' is unknown; did you mean 'loop'?"),
        ("file", {"path": "x", "rotation": 45}, "rotation must be 0, 90, 180 or -90, got 45"),
        ("file", {"path": "x", "color_mode": "rbg"}, "color_mode 'rbg' is unknown"),
        ("file", {"path": "x", "width": 3}, "width and height belong together"),
        ("file", {"path": "x", "fps": -1}, "fps must be positive"),
        ("file", {"path": "x", "warmup_s": -1}, "warmup_s must not be negative"),
        ("opencv", {"fourcc": "MJPEG"}, "fourcc must have four characters"),
        ("opencv", {"index_or_path": "-1"}, "index_or_path must be a camera's number, path or address"),
        ("opencv", {"index_or_path": __file__}, "is a file, not a camera; use type=file"),
        ("zmq", {}, "server_address is missing"),
        ("zmq", {"server_address": "x", "port": 70000}, "port must be 1 to 65535"),
        ("intelrealsense", {}, "serial_number_or_name is missing"),
        ("intelrealsense", {"serial_number_or_name": "1", "use_rgb": False}, "both false"),
        ("opencvv", {}, "unknown camera 'opencvv'; did you mean 'opencv'?"),
        ("reachy2_camera", {}, "not supported yet; LeRobot itself can drive it"),
    ],
)
def test_a_wrong_option_is_named(type: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        make_camera(type, **options)
    assert message in str(error.value)


def test_a_missing_device_is_named() -> None:
    with pytest.raises(CameraFault, match=r"camera 'opencv' \(opencv 97\) cannot be opened: there is no such camera"):
        make_camera("opencv", index_or_path=97).connect()


def test_a_password_in_an_address_is_not_shown() -> None:
    camera = make_camera("opencv", index_or_path="rtsp://me:secret@10.0.0.9/live")
    assert str(camera) == "camera 'opencv' (opencv rtsp://10.0.0.9/live)"
    assert shown_address("rtsp://me:sec@ret@10.0.0.9/live") == "rtsp://10.0.0.9/live"
