"""Messages over a socket: one system call to send, and usually one to receive.

`multiprocessing.Connection` reads twice per message and creates a pickler each time; with one message per step, that
took a fifth of the main process's time.

A simulator's native library may write to the wrong descriptor. So a message has a mark, a length and a checksum, and
receiving anything else raises `StrayBytes`.
"""

from __future__ import annotations

import pickle
import socket
import struct
import zlib
from typing import Any

__all__ = ["Channel", "StrayBytes", "packed", "unpacked"]

# No text begins with the first byte, in any encoding that is based on ASCII.
MARK = b"\xf5ya\x01"
HEADER = struct.Struct("!4sII")
LONGEST = 1 << 28
READ_SIZE = 65536


class StrayBytes(ConnectionError):
    """A socket has received bytes that are not a message."""


class Channel:
    """One end of a socket that carries whole pickled messages."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._unread = bytearray()

    def send(self, message: Any) -> None:
        """Send a message; raise `ConnectionError` if the other side is gone."""
        self._socket.sendall(packed(message))

    def receive(self) -> Any:
        """Wait for a message; raise `EOFError` or `ConnectionError` if the other side is gone."""
        while not (messages := unpacked(self._unread, at_most=1)):
            self._read(0)
        return messages[0]

    def arrived(self) -> list[Any]:
        """All messages that have arrived, without waiting; raise as `receive` does."""
        try:
            while self._read(socket.MSG_DONTWAIT) == READ_SIZE and len(self._unread) <= LONGEST:
                pass
        except BlockingIOError:
            pass
        except (EOFError, ConnectionError):
            if last_words := unpacked(self._unread):
                return last_words
            raise
        return unpacked(self._unread)

    def _read(self, flags: int) -> int:
        received = self._socket.recv(READ_SIZE, flags)
        if not received:
            raise EOFError("the other side hung up")
        self._unread += received
        return len(received)

    def fileno(self) -> int:
        """For selectors."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


def packed(message: Any) -> bytes:
    """Encode a message for a socket."""
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return HEADER.pack(MARK, len(body), zlib.crc32(body)) + body


def unpacked(unread: bytearray, at_most: int = -1) -> list[Any]:
    """Remove whole messages from the received bytes, and decode them; stray bytes after them raise at the next call."""
    messages: list[Any] = []
    while len(messages) != at_most and unread:
        try:
            body = _first_body(unread)
        except StrayBytes:
            if messages:
                break
            raise
        if body is None:
            break
        del unread[: HEADER.size + len(body)]
        messages.append(pickle.loads(body))
    return messages


def _first_body(unread: bytearray) -> bytes | None:
    """The first message, still pickled; None if it has not fully arrived."""
    if not unread.startswith(MARK) and not MARK.startswith(unread[: len(MARK)]):
        raise StrayBytes(f"{len(unread)} bytes that are not a message: {bytes(unread[:20])!r}…")
    if len(unread) < HEADER.size:
        return None
    _, length, checksum = HEADER.unpack_from(unread)
    if length > LONGEST:
        raise StrayBytes(f"a message of {length} bytes")
    if len(unread) < HEADER.size + length:
        return None
    body = bytes(unread[HEADER.size : HEADER.size + length])
    if zlib.crc32(body) != checksum:
        raise StrayBytes("a message with other bytes in the middle")
    return body
