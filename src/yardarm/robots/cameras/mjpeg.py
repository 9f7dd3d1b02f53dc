"""MJPEG over HTTP, as network cameras and phones send it.

OpenCV could read it, too, but scales every picture to the size of the first one: a camera that changes its size would
go unnoticed. And it reads picture after picture, however many wait: whoever was late once would stay late.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import re
import select
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from yardarm.errors import CameraFault
from yardarm.robots.cameras.opencv_library import load_opencv

if TYPE_CHECKING:
    import numpy as np

__all__ = ["MjpegStream", "decoded"]

TIMEOUT_S = 2.0
LARGEST = 64 * 2**20
# More than any buffer between here and the socket holds, so that nothing waits where `select` does not see it.
AT_ONCE = 2**20
HEADERS_END = re.compile(rb"\r?\n\r?\n")
LENGTH = re.compile(rb"^content-length:\s*(\d+)\s*$", re.IGNORECASE | re.MULTILINE)
BROKEN = (OSError, ValueError, http.client.HTTPException)
# Cameras are in the room, not behind the proxy of the company.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class MjpegStream:
    """The pictures of an address, as JPEGs: always the newest that has come."""

    def __init__(self, answer: Any, boundary: bytes) -> None:
        self._answer, self._boundary = answer, boundary
        self._content = bytearray()
        """What has come, and was not looked at yet."""

    @classmethod
    def open(cls, address: str) -> MjpegStream | None:
        """The stream behind an address; None if it is a video of another kind."""
        try:
            answer = OPENER.open(_request(address), timeout=TIMEOUT_S)
        except urllib.error.HTTPError as error:
            raise CameraFault(f"the server answers {error.code} {error.reason}; check the address") from None
        except BROKEN as error:
            raise CameraFault(f"nothing answers there ({error}); is the camera on, and the address right?") from None
        kind = answer.headers
        if kind.get_content_type() != "multipart/x-mixed-replace":
            answer.close()
            return None
        boundary = str(kind.get_param("boundary", "")).strip('"').removeprefix("--")
        return cls(answer, b"--" + boundary.encode())

    def newest(self) -> bytes:
        """Wait for a picture, and leave out those that waited before it."""
        try:
            while (newest := self._first()) is None:
                self._receive()
        except BROKEN as error:
            raise CameraFault(f"the connection broke ({error})") from None
        with contextlib.suppress(*BROKEN):  # the next one will say so
            while self._is_waiting() and len(self._content) < LARGEST:
                self._receive()
        while (newer := self._first()) is not None:
            newest = newer
        return newest

    def close(self) -> None:
        """Hang up."""
        self._answer.close()

    def _receive(self) -> None:
        """Add what comes next."""
        content: bytes = self._answer.read1(AT_ONCE)
        if not content:
            raise ConnectionError("the camera hung up")
        self._content += content
        if len(self._content) > 2 * LARGEST:
            raise ValueError("a picture without end")

    def _is_waiting(self) -> bool:
        waiting = select.poll()
        waiting.register(self._answer.fileno(), select.POLLIN)
        return bool(waiting.poll(0))

    def _first(self) -> bytes | None:
        """Take the first picture of what has come; None if it has not come as a whole."""
        headers = self._at_boundary(0)
        if headers < 0 or not (end := HEADERS_END.search(self._content, headers)):
            return None
        told = LENGTH.search(self._content, headers, end.start() + 1)
        begin, length = end.end(), int(told[1]) if told else 0
        if length > LARGEST:
            raise ValueError(f"a picture of {length} bytes")
        # Some servers do not say how long a picture is.
        after = begin + length if length else self._at_boundary(begin)
        if not begin <= after <= len(self._content):
            return None
        picture = bytes(self._content[begin:after])
        del self._content[:after]
        return picture

    def _at_boundary(self, start: int) -> int:
        """Where the next boundary begins a line; −1: nowhere yet."""
        at = self._content.find(self._boundary, start)
        while at > 0 and self._content[at - 1] != ord("\n"):
            at = self._content.find(self._boundary, at + 1)
        return at


def decoded(jpeg: bytes) -> np.ndarray:
    """The picture of a JPEG, in OpenCV's order of colours."""
    import numpy as np

    cv2 = load_opencv()
    picture: np.ndarray | None = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR) if jpeg else None
    if picture is None:
        raise CameraFault("a picture cannot be decoded")
    return picture


def _request(address: str) -> urllib.request.Request:
    """A request with the user and password of the address, if it has any."""
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    request = urllib.request.Request(urlunsplit(parts._replace(netloc=host)))
    if parts.username:
        user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        request.add_header("Authorization", f"Basic {base64.b64encode(user.encode()).decode()}")
    return request
