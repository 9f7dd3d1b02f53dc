"""Cameras that die, hang, freeze, lie about their size, or live on another clock."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import cv2
import pytest

from tests.robots.cameras.mjpeg import MjpegServer
from tests.robots.cameras.pictures import HEIGHT, WIDTH, HandClock, plain, wait_for, write_video
from yardarm.errors import CameraFault, StaleFrame
from yardarm.robots.cameras import Delivery, PictureMode, make_camera
from yardarm.robots.cameras.file import FileCamera, FileCameraConfig
from yardarm.robots.cameras.finding import modes_of
from yardarm.robots.cameras.mjpeg import MjpegStream, decoded
from yardarm.robots.cameras.opencv import OpenCVCamera, OpenCVCameraConfig


@pytest.fixture
def server() -> Iterator[MjpegServer]:
    with MjpegServer() as server:
        yield server


def camera_of(server: MjpegServer, width: int = WIDTH, height: int = HEIGHT) -> OpenCVCamera:
    config = OpenCVCameraConfig(fps=server.fps, width=width, height=height, index_or_path=server.url, warmup_s=0)
    return OpenCVCamera(config, name="front")


def named(caplog: pytest.LogCaptureFixture, words: str) -> list[str]:
    return [record.getMessage() for record in caplog.records if words in record.getMessage()]


def test_pictures_come_over_http(server: MjpegServer) -> None:
    with camera_of(server) as camera:
        one = camera.latest()
        assert one.picture.shape == (HEIGHT, WIDTH, 3)
        camera.read()
        other = camera.latest()
        assert other.number > one.number
        assert other.captured_s > one.captured_s
    assert wait_for(lambda: server.connections) == 1


def test_a_camera_that_dies_is_named_once_restarted_and_back(
    server: MjpegServer, caplog: pytest.LogCaptureFixture
) -> None:
    with camera_of(server) as camera:
        server.die()
        wait_for(lambda: camera.status().restarts >= 2)
        last = camera.latest()
        status = camera.status()
        assert status.is_stalled
        assert status.age_s is not None
        assert status.age_s >= 0.5
        with pytest.raises(StaleFrame, match=r"camera 'front'.* ms old, more than 400 ms"):
            camera.read_latest(max_age_ms=400)
        camera.async_read()  # nobody has taken the last one yet
        with pytest.raises(StaleFrame, match=r"no new picture within 10 ms; its newest is \d+ ms old"):
            camera.async_read(timeout_ms=10)
        assert camera.latest().captured_s == last.captured_s  # old it is, and old it stays
        assert len(named(caplog, "camera 'front' (opencv http://127.0.0.1")) == 1
        server.start()
        wait_for(lambda: camera.latest().number > last.number)
        wait_for(lambda: named(caplog, "is back after"))


def test_a_camera_that_hangs_is_noticed_by_whoever_looks(server: MjpegServer, caplog: pytest.LogCaptureFixture) -> None:
    with camera_of(server) as camera:
        server.is_hanging = True
        wait_for(lambda: camera.status().is_stalled)
        assert named(caplog, "has given no picture for")  # although its thread still waits for the device
        wait_for(lambda: server.connections >= 2)  # its thread has given up, and asked again
        server.is_hanging = False
        wait_for(lambda: not camera.status().is_stalled)


def test_a_frozen_camera_is_reported_and_left_alone(server: MjpegServer) -> None:
    with camera_of(server) as camera:
        assert not camera.status().is_frozen
        server.is_frozen = True
        wait_for(lambda: camera.status().is_frozen)
        server.is_frozen = False
        wait_for(lambda: not camera.status().is_frozen)
        assert camera.status().restarts == 0


def test_a_camera_that_lies_about_its_size_is_refused_at_once(server: MjpegServer) -> None:
    camera = camera_of(server, width=64)
    with pytest.raises(CameraFault, match=r"camera 'front'.*it gives 32×24, not 64×24 as asked for"):
        camera.connect()
    assert not camera.is_connected


def test_a_camera_whose_first_picture_was_wrong_is_waited_for_again(server: MjpegServer) -> None:
    server.width = 64
    camera = camera_of(server)
    camera.connect(warmup=False)
    try:
        with pytest.raises(StaleFrame, match="it gives 64×24, not 32×24"):
            camera.async_read(timeout_ms=30_000)  # it says so at once
        server.width = WIDTH
        wait_for(lambda: camera.status().frames)
        for _ in range(3):
            assert camera.read().shape == (HEIGHT, WIDTH, 3)
    finally:
        camera.disconnect()


def test_pictures_that_wait_are_left_out(server: MjpegServer) -> None:
    stream = MjpegStream.open(server.url)
    assert stream is not None
    wait_for(lambda: server.sent >= 10)  # and nobody reads
    server.is_hanging = True
    wait_for(server.has_paused)
    assert round(decoded(stream.newest()).mean() / 8) % 32 == server.sent % 32
    stream.close()


PARTS = {
    "with lengths": b"--b\r\nContent-Type: image/jpeg\r\nContent-Length: 5\r\n\r\n%b\r\n",
    "with small letters, and nothing between": b"--b\ncontent-length:5\n\n%b",
    "without lengths": b"--b\r\nContent-Type: image/jpeg\r\n\r\n%b\r\n",
    "without headers": b"--b\r\n\r\n%b\r\n",
}


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("part", PARTS)
def test_parts_are_found_however_they_come(part: str, size: int) -> None:
    wire = b"a preamble\r\n" + b"".join(PARTS[part] % content for content in (b"--one", b"two--", b"three"))
    wire += b"--b--\r\n\r\n"
    with Pieces(wire, size) as answer:
        stream = MjpegStream(answer, b"--b")
        found = [stream.newest().rstrip(b"\r\n")]
        while found[-1] != b"three":
            found.append(stream.newest().rstrip(b"\r\n"))
        with pytest.raises(CameraFault, match="the camera hung up"):
            stream.newest()
    assert found == ([b"--one", b"two--", b"three"] if size < 1000 else [b"three"])


class Pieces:
    """An answer that comes in pieces; none of them waits."""

    def __init__(self, content: bytes, size: int) -> None:
        self._pieces = [content[start : start + size] for start in range(0, len(content), size)]
        self._ends = os.pipe()

    def read1(self, most: int) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""

    def fileno(self) -> int:
        return self._ends[0]

    def __enter__(self) -> Pieces:
        return self

    def __exit__(self, *_: object) -> None:
        for end in self._ends:
            os.close(end)


class Driver:
    """OpenCV's capture of a device on Linux, whose driver says when it took a picture."""

    def __init__(self, taken_s: float) -> None:
        self.taken_s = taken_s

    def getBackendName(self) -> str:
        return "V4L2"

    def get(self, _: int) -> float:
        return self.taken_s * 1000

    def grab(self) -> bool:
        return True

    def retrieve(self) -> tuple[bool, Any]:
        return True, plain(7)


@pytest.mark.parametrize(("waited_s", "is_believed"), [(0.12, True), (-3600.0, False), (3600.0, False)])
def test_a_picture_that_waited_in_the_driver_has_the_drivers_time(waited_s: float, is_believed: bool) -> None:
    camera = OpenCVCamera(OpenCVCameraConfig())
    now = camera.clock.now()
    camera._capture = Driver(now - waited_s)
    delivery = camera.next_picture(threading.Event())
    assert delivery is not None
    assert delivery.captured_s is not None
    assert (delivery.captured_s == pytest.approx(now - waited_s)) is is_believed
    assert is_believed or delivery.captured_s >= now


def test_a_camera_that_changes_its_size_is_stalled_until_it_is_right_again(
    server: MjpegServer, caplog: pytest.LogCaptureFixture
) -> None:
    with camera_of(server) as camera:
        server.width = 64
        wait_for(lambda: camera.status().restarts)
        assert camera.latest().picture.shape == (HEIGHT, WIDTH, 3)
        assert named(caplog, "(it gives 64×24, not 32×24 as asked for")
        server.width = WIDTH
        wait_for(lambda: not camera.status().is_stalled)


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """A plain web server for the files of a folder."""

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *values: Any) -> None:
            super().__init__(*values, directory=str(folder))

        def log_message(self, format: str, *values: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_other_streams_are_read_by_opencv_and_restarted_when_they_end(tmp_path: Path) -> None:
    write_video(tmp_path / "film.mp4", [20, 40, 60])
    with serving(tmp_path) as address:
        options = {"index_or_path": f"{address}/film.mp4", "warmup_s": 0}
        with make_camera("opencv", width=WIDTH, height=HEIGHT, fps=30, **options) as camera:
            wait_for(lambda: camera.status().restarts and camera.status().frames > 3)
        with pytest.raises(CameraFault, match=r"asked for 64×24, it sends 32×24; set width and height to that"):
            make_camera("opencv", width=64, height=24, **options).connect()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 64, "height": 48}, "asked for 64×48, it answers 32×24; `yardarm find-cameras` lists"),
        (
            {"width": HEIGHT, "height": WIDTH, "rotation": 90, "fps": 50},
            "asked for 50 pictures a second, it answers 25",
        ),
    ],
)
def test_a_device_must_accept_size_and_rate_exactly(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    capture = cv2.VideoCapture(str(write_video(tmp_path / "film.mp4", [20], fps=25)))  # as stubborn as a device
    camera = OpenCVCamera(OpenCVCameraConfig(**options))
    camera._capture = capture
    with pytest.raises(CameraFault) as error:
        camera._set_up()
    assert message in str(error.value)
    assert modes_of(capture) == (PictureMode(WIDTH, HEIGHT, 25.0),)


def test_a_size_need_not_be_asked_for(server: MjpegServer) -> None:
    with make_camera("opencv", index_or_path=server.url, warmup_s=0) as camera:
        assert camera.latest().picture.shape == (HEIGHT, WIDTH, 3)


def test_an_address_without_a_camera_is_named(server: MjpegServer) -> None:
    server.die()
    with pytest.raises(CameraFault, match=r"cannot be opened: nothing answers there"):
        camera_of(server).connect()


def test_two_cameras_keep_their_own_rates(server: MjpegServer, tmp_path: Path) -> None:
    film = write_video(tmp_path / "film.mp4", [10, 90], fps=5)
    with camera_of(server) as fast, make_camera("file", path=film) as slow:
        start = fast.latest().number, slow.latest().number
        wait_for(lambda: slow.latest().number >= start[1] + 5)
        of_fast, of_slow = fast.latest().number - start[0], slow.latest().number - start[1]
        assert of_fast > of_slow


def test_a_step_of_the_clock_makes_pictures_old_and_restarts_nothing(server: MjpegServer) -> None:
    clock = HandClock()
    camera = camera_of(server)
    camera.clock = clock
    with camera:
        frame = camera.latest()
        clock.time += 3600
        with pytest.raises(StaleFrame, match="3600000 ms old"):
            camera.require_fresh(frame)
        wait_for(lambda: clock.now() - camera.latest().captured_s == 0)  # the next picture has the new time
        camera.read_latest()
        assert camera.status().restarts == 0


def test_a_thread_ends_with_its_camera(server: MjpegServer, caplog: pytest.LogCaptureFixture) -> None:
    camera = camera_of(server)
    camera.connect()
    server.is_hanging = True
    camera.disconnect()
    assert not camera.is_connected
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


class SlowCamera(FileCamera):
    """Needs longer for a picture than is good."""

    when_slow = "buy another one"

    def next_picture(self, stopping: threading.Event) -> Delivery | None:
        stopping.wait(0.7)
        return super().next_picture(stopping)


@pytest.mark.parametrize(("stall_s", "others"), [(5.0, 0), (0.5, 3)])
def test_a_slow_camera_is_called_slow_once(
    stall_s: float, others: int, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SlowCamera, "stall_s", stall_s)
    film = write_video(tmp_path / "film.mp4", [20 * level for level in range(10)], fps=10)
    with SlowCamera(FileCameraConfig(path=film, fps=10), name="front") as camera:
        wait_for(lambda: camera.latest().number >= 6)
        assert not camera.status().is_stalled
        assert camera.status().restarts == 0
    assert len(slow := named(caplog, "is slow: a picture takes it up to")) == 1
    assert slow[0].endswith(" s; buy another one")
    assert len(caplog.records) <= 1 + others  # it stalled, it is back, it stalled; then it is known to be slow
