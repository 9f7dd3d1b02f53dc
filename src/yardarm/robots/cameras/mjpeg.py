"""MJPEG over HTTP, as network cameras and phones send it.

OpenCV could read it, too, but scales every picture to the size of the first one: a camera that changes its size would
go unnoticed.
"""

from __future__ import annotations

import base64
import http.client
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from yardarm.errors import CameraFault
from yardarm.robots.cameras.opencv_library import load_opencv

if TYPE_CHECKING:
    import numpy as np

__all__ = ["MjpegStream"]

TIMEOUT_S = 2.0
LARGEST = 64 * 2**20
# Cameras are in the room, not behind the proxy of the company.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class MjpegStream:
    """The pictures of an address, one after the other."""

    def __init__(self, answer: Any, boundary: bytes) -> None:
        self._answer, self._boundary = answer, boundary
        self._is_at_part = False

    @classmethod
    def open(cls, address: str) -> MjpegStream | None:
        """The stream behind an address; None if it is a video of another kind."""
        try:
            answer = OPENER.open(_request(address), timeout=TIMEOUT_S)
        except urllib.error.HTTPError as error:
            raise CameraFault(f"the server answers {error.code} {error.reason}; check the address") from None
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise CameraFault(f"nothing answers there ({error}); is the camera on, and the address right?") from None
        kind = answer.headers
        if kind.get_content_type() != "multipart/x-mixed-replace":
            answer.close()
            return None
        boundary = str(kind.get_param("boundary", "")).strip('"').removeprefix("--")
        return cls(answer, b"--" + boundary.encode())

    def next(self) -> np.ndarray:
        """Wait for the next picture."""
        try:
            jpeg = self._part()
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise CameraFault(f"the connection broke ({error})") from None
        import numpy as np

        cv2 = load_opencv()
        picture = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR) if jpeg else None
        if picture is None:
            raise CameraFault("a picture cannot be decoded")
        return picture

    def close(self) -> None:
        """Hang up."""
        self._answer.close()

    def _part(self) -> bytes:
        while not (self._is_at_part or self._line().startswith(self._boundary)):
            pass
        self._is_at_part, length = False, 0
        while (line := self._line().strip()) != b"":
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length":
                length = int(value)
        if length > LARGEST:
            raise ValueError(f"a picture of {length} bytes")
        return self._exactly(length) if length else self._until_boundary()

    def _line(self) -> bytes:
        line: bytes = self._answer.readline(LARGEST)
        if not line:
            raise ConnectionError("the camera hung up")
        return line

    def _exactly(self, length: int) -> bytes:
        content: bytes = self._answer.read(length)
        if len(content) < length:
            raise ConnectionError("the camera hung up")
        return content

    def _until_boundary(self) -> bytes:
        """Some servers do not say how long a picture is."""
        content = bytearray()
        while not (line := self._line()).startswith(self._boundary):
            content += line
            if len(content) > LARGEST:
                raise ValueError("a picture without end")
        self._is_at_part = True
        return bytes(content)


def _request(address: str) -> urllib.request.Request:
    """A request with the user and password of the address, if it has any."""
    parts = urlsplit(address)
    host = parts.netloc.rpartition("@")[2]
    request = urllib.request.Request(urlunsplit(parts._replace(netloc=host)))
    if parts.username:
        user = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        request.add_header("Authorization", f"Basic {base64.b64encode(user.encode()).decode()}")
    return request
