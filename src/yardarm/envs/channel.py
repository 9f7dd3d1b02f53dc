"""Messages over a socket: one system call to send, and usually one to receive.

`multiprocessing.Connection` reads twice per message and makes a pickler for each; at one message a step that was a
fifth of the main process's time.
"""

from __future__ import annotations

import pickle
import socket
import struct
from typing import Any

__all__ = ["Channel"]

HEADER = struct.Struct("!I")
READ_SIZE = 65536


class Channel:
    """One end of a socket that carries whole pickled messages."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._unread = bytearray()

    def send(self, message: Any) -> None:
        """Send a message; raises `ConnectionError` if the other side is gone."""
        body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        self._socket.sendall(HEADER.pack(len(body)) + body)

    def receive(self) -> Any:
        """Wait for a message; raises `EOFError` or `ConnectionError` if the other side is gone."""
        unread = self._unread
        while len(unread) < HEADER.size or len(unread) < (end := HEADER.size + HEADER.unpack_from(unread)[0]):
            received = self._socket.recv(READ_SIZE)
            if not received:
                raise EOFError("the other side hung up")
            unread += received
        message = pickle.loads(memoryview(unread)[HEADER.size : end])
        # Each side waits for an answer before it says more, so that nothing follows, but for heartbeats.
        self._unread = unread[end:]
        return message

    @property
    def has_unread(self) -> bool:
        """Whether bytes of a further message have been received, which no selector will report."""
        return bool(self._unread)

    def fileno(self) -> int:
        """For selectors."""
        return self._socket.fileno()

    def close(self) -> None:
        """Hang up."""
        self._socket.close()
