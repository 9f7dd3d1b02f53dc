"""A camera that another machine publishes as LeRobot's image servers do."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator

import cv2
import numpy as np
import pytest
import zmq

from tests.robots.cameras.pictures import HEIGHT, WIDTH, wait_for
from yardarm.errors import CameraFault
from yardarm.robots.cameras import Camera, make_camera


class ImageServer:
    """Publishes a picture again and again; its time says whether it is a new one."""

    def __init__(self) -> None:
        self.picture = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
        self.picture[:, :, 0] = 200  # red, in an array of RGB
        self.time_s, self.is_new = 0.0, True
        self._socket = zmq.Context.instance().socket(zmq.PUB)
        self._socket.setsockopt(zmq.LINGER, 0)
        self.port = self._socket.bind_to_random_port("tcp://127.0.0.1")
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopping.wait(0.01):
            self.time_s += 1.0 if self.is_new else 0.0
            jpeg = base64.b64encode(cv2.imencode(".jpg", self.picture)[1].tobytes()).decode()
            message = {"timestamps": {"head": self.time_s}, "images": {"head": jpeg}}
            self._socket.send_string(json.dumps(message))

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()
        self._socket.close()


@pytest.fixture
def server() -> Iterator[ImageServer]:
    server = ImageServer()
    yield server
    server.stop()


def camera_of(server: ImageServer, name: str = "head") -> Camera:
    return make_camera(
        *("zmq",),
        server_address="127.0.0.1",
        port=server.port,
        camera_name=name,
        width=WIDTH,
        height=HEIGHT,
        warmup_s=0,
    )


def test_arrays_arrive_as_they_were_sent(server: ImageServer) -> None:
    with camera_of(server) as camera:
        assert camera.read().shape == (HEIGHT, WIDTH, 3)
        means = camera.latest().picture.mean(axis=(0, 1))
    assert means == pytest.approx([200, 0, 0], abs=4)


def test_a_picture_that_the_server_repeats_is_not_a_new_one(server: ImageServer) -> None:
    with camera_of(server) as camera:
        server.is_new = False
        wait_for(lambda: camera.status().age_s > 0.3)
        before = camera.latest()
        server.is_new = True
        wait_for(lambda: camera.latest().number > before.number)


def test_another_name_is_answered_with_those_that_are_there(server: ImageServer) -> None:
    camera = camera_of(server, "hand")
    with pytest.raises(CameraFault, match="the server has no camera 'hand'; it has head"):
        camera.connect()


def test_a_server_that_says_nothing_is_named() -> None:
    camera = make_camera("zmq", server_address="127.0.0.1", port=9, camera_name="head", timeout_ms=200)
    with pytest.raises(CameraFault, match=r"nothing comes from 127.0.0.1:9; is the server running there\?"):
        camera.connect()
