"""Two cameras of 640×480: published by a process of its own as LeRobot's image servers do, or as video files."""

from __future__ import annotations

import base64
import contextlib
import json
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import cv2
import numpy as np
import zmq
from processes import CONTEXT
from twin_processes import run_like_hardware

CAMERAS = ("front", "wrist")
WIDTH, HEIGHT = 640, 480
QUALITY = [cv2.IMWRITE_JPEG_QUALITY, 80]  # as LeRobot's image servers
LOOP_S = 1
"""The pictures begin again after so long."""


def film(camera: int, fps: int) -> list[np.ndarray]:
    """Moving waves and a block, with the noise of a sensor: harder to encode than a drawing."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH].astype(np.float32)
    noise = np.random.default_rng(camera).normal(0, 4, (HEIGHT, WIDTH, 3)).astype(np.float32)
    pictures = []
    for number in range(LOOP_S * fps):
        turn = 2 * np.pi * number / (LOOP_S * fps)
        waves = 127 + 60 * np.sin(columns / 39 + turn) + 50 * np.cos(rows / 47 - turn + camera)
        pixels = np.stack([waves, np.roll(waves, 19, 0), 255 - waves], axis=-1) + np.roll(noise, 7919 * number)
        left = 100 + round(200 * np.sin(turn) ** 2)
        pixels[180:260, left : left + 90] = (40, 40, 250)
        pictures.append(pixels.clip(0, 255).astype(np.uint8))
    return pictures


def file_cameras(folder: Path, fps: int) -> dict[str, dict[str, object]]:
    """Cameras of the type `file`: videos whose pictures are JPEGs, as those of the server are."""
    described = {}
    for number, name in enumerate(CAMERAS):
        path = folder / f"{name}-{fps}.avi"
        writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), fps, (WIDTH, HEIGHT))
        for pixels in film(number, fps):
            writer.write(pixels)
        writer.release()
        described[name] = {"type": "file", "path": str(path), "fps": fps, "width": WIDTH, "height": HEIGHT}
    return described


@contextlib.contextmanager
def published_cameras(fps: int) -> Iterator[dict[str, dict[str, object]]]:
    """Cameras of the type `zmq`, which LeRobot has, too."""
    ours, theirs = CONTEXT.Pipe()
    process = CONTEXT.Process(target=_publish, args=(fps, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        shape = {"fps": fps, "width": WIDTH, "height": HEIGHT}
        yield {
            name: {"type": "zmq", "server_address": "127.0.0.1", "port": port, "camera_name": name, **shape}
            for name, port in zip(CAMERAS, ours.recv(), strict=True)
        }
    finally:
        ours.close()
        process.join()


def _publish(fps: int, pipe: Connection) -> None:
    films = [[_jpeg(pixels) for pixels in film(number, fps)] for number in range(len(CAMERAS))]
    run_like_hardware()
    with zmq.Context() as context, contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(context.socket(zmq.PUB)) for _ in CAMERAS]
        for socket in sockets:
            socket.setsockopt(zmq.LINGER, 0)
        pipe.send([socket.bind_to_random_port("tcp://127.0.0.1") for socket in sockets])
        began, number = time.monotonic(), 0
        while not pipe.poll(max(0.0, began + number / fps - time.monotonic())):
            for name, socket, jpegs in zip(CAMERAS, sockets, films, strict=True):
                message = {"timestamps": {name: time.time()}, "images": {name: jpegs[number % len(jpegs)]}}
                socket.send_string(json.dumps(message))
            number += 1


def _jpeg(pixels: np.ndarray) -> str:
    return base64.b64encode(cv2.imencode(".jpg", pixels, QUALITY)[1].tobytes()).decode()
