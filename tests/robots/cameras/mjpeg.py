"""A camera on the network: MJPEG over HTTP, which can die, hang, freeze, and change its size."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

import cv2
import numpy as np

from tests.robots.cameras.pictures import HEIGHT, WIDTH

BOUNDARY = b"--frame\r\n"


class MjpegServer:
    """Streams pictures whose grey grows; tests change its attributes while it runs."""

    def __init__(self, fps: float = 60, width: int = WIDTH, height: int = HEIGHT) -> None:
        self.fps, self.width, self.height = fps, width, height
        self.is_frozen = self.is_hanging = False
        self.sent = 0
        self._pauses = 0
        self.connections = 0
        self._generation = 0
        self._server: ThreadingHTTPServer | None = None
        self.port = 0

    def start(self) -> None:
        """Listen, on the port of before if there was one."""
        stream = self._stream

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                stream(self)

            def log_message(self, format: str, *values: Any) -> None:
                """Say nothing."""

        ThreadingHTTPServer.allow_reuse_address = True
        ThreadingHTTPServer.daemon_threads = True
        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def die(self) -> None:
        """Cut all connections, and listen no more."""
        self._generation += 1
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def has_paused(self) -> bool:
        """Whether the last picture is on its way, and no other follows."""
        return self._pauses > 1

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/stream.mjpg"

    def _stream(self, request: BaseHTTPRequestHandler) -> None:
        own = self._generation
        self.connections += 1
        request.send_response(200)
        request.send_header("Content-Type", "multipart/x-mixed-replace; boundary=frame")
        request.end_headers()
        try:
            while own == self._generation:
                if not self.is_hanging:
                    self._send(request.wfile.write)
                    self._pauses = 0
                else:
                    self._pauses += 1
                time.sleep(1 / self.fps)
        except OSError:
            pass  # the client has left
        finally:
            request.close_connection = True

    def _send(self, write: Callable[[bytes], Any]) -> None:
        if not self.is_frozen:
            self.sent += 1
        picture = np.full((self.height, self.width, 3), self.sent * 8 % 256, np.uint8)
        jpeg = cv2.imencode(".jpg", picture)[1].tobytes()
        write(BOUNDARY + b"Content-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n" % len(jpeg) + jpeg + b"\r\n")

    def __enter__(self) -> MjpegServer:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.die()
