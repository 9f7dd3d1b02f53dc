"""One connection to a policy's server: frames go out and come back within a time limit, and errors have an owner."""

from __future__ import annotations

import contextlib
import struct
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from socket import SHUT_RDWR, SO_KEEPALIVE, SO_SNDTIMEO, SOL_SOCKET
from typing import Any, Protocol
from urllib.parse import urlsplit

import numpy as np
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.sync.client import ClientConnection, connect

import yardarm_serve
from yardarm.errors import ConnectionFault, PolicyFault, UsageError
from yardarm.policies.protocol import Look, Outcome
from yardarm.tasks import EpisodeSpec
from yardarm_serve.server import CLIENT_HEADER, LOOPBACK
from yardarm_serve.wire import Malformed, unpack

__all__ = ["Address", "Connection", "Reply", "Socket", "fault_of_server"]

WRONG_KEY = (401, 403)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is, and how long it may take to answer."""

    url: str
    api_key: str | None = field(default=None, repr=False)
    timeout_s: float = 300.0


@dataclass(frozen=True, slots=True)
class Reply:
    """Actions as the server sent them, and where it will look, if it says so."""

    actions: np.ndarray
    looks: Mapping[str, Sequence[int]] = field(default_factory=dict)


class Connection(Protocol):
    """A conversation with a server, one episode after the other."""

    declared: Mapping[str, Any]
    """What the server says of itself."""

    def begin(self, episode: EpisodeSpec) -> None:
        """An episode begins."""

    def ask(self, looks: Sequence[Look], instruction: str) -> Reply:
        """Show what was seen, by the server's names, and get actions."""

    def end(self, outcome: Outcome | None) -> None:
        """The episode is over; without an outcome it was given up."""

    def close(self) -> None:
        """Hang up."""


def fault_of_server(url: str, text: str) -> PolicyFault:
    """What a server reports of a policy that raised there, mostly a traceback."""
    lines = text.strip().splitlines() or ["nothing"]
    return PolicyFault(f"the policy's server at {url} says: {lines[-1]}", text if len(lines) > 1 else "")


class Socket:
    """A WebSocket whose every failure is one of ours: a lost connection, a policy that failed, a user's mistake."""

    def __init__(self, address: Address, *, plain: bool) -> None:
        """`plain` keeps silent about who is calling, so that any server takes it for its own client."""
        self._address = address
        headers = {"Authorization": f"Api-Key {address.api_key}"} if address.api_key else {}
        if not plain:
            headers[CLIENT_HEADER] = yardarm_serve.__version__
        self._open = contextlib.ExitStack()
        with self._our_errors():
            self._socket: ClientConnection = self._open.enter_context(
                connect(
                    address.url,
                    additional_headers=headers,
                    open_timeout=address.timeout_s,
                    close_timeout=1.0,
                    compression=None,
                    max_size=None,
                    ping_interval=None,  # openpi's server cannot answer pings while it infers
                    proxy=None if urlsplit(address.url).hostname in LOOPBACK else True,
                )
            )
        raw = self._socket.socket
        raw.setsockopt(SOL_SOCKET, SO_KEEPALIVE, 1)
        # A server that stops reading must not hold a sender for ever.
        raw.setsockopt(SOL_SOCKET, SO_SNDTIMEO, struct.pack("ll", max(1, int(address.timeout_s)), 0))

    def send(self, frame: bytes) -> None:
        """Send a binary frame."""
        with self._our_errors():
            self._socket.send(frame)

    def receive(self, timeout_s: float | None = None) -> Any:
        """The next message, unpacked. A text is an error of the server's. None: nothing came within `timeout_s`."""
        try:
            with self._our_errors(), contextlib.suppress(*(() if timeout_s is None else (TimeoutError,))):
                frame = self._socket.recv(self._address.timeout_s if timeout_s is None else timeout_s)
                if isinstance(frame, str):
                    raise fault_of_server(self._address.url, str(frame))
                return unpack(frame)
        except Malformed as error:
            raise PolicyFault(f"the server at {self._address.url} answered with {error}") from error
        return None

    def close(self) -> None:
        """Close it without waiting for the other side; calls that wait for an answer end."""
        # The closing handshake can take a second, which is too long to wait for.
        threading.Thread(target=self._hang_up).start()

    def _hang_up(self) -> None:
        with contextlib.suppress(Exception):
            self._open.close()
        with contextlib.suppress(OSError):
            self._socket.socket.shutdown(SHUT_RDWR)

    @contextlib.contextmanager
    def _our_errors(self) -> Any:
        url = self._address.url
        try:
            yield
        except TimeoutError as error:
            raise ConnectionFault(f"no answer from {url} within {self._address.timeout_s:g} s") from error
        except InvalidURI as error:
            raise UsageError(f"--policy.url={url} is no address of a server; it looks like ws://host:8000") from error
        except InvalidStatus as error:
            status = error.response.status_code
            if status in WRONG_KEY:
                wants = "another key" if self._address.api_key else "a key"
                raise UsageError(
                    f"the server at {url} wants {wants}: give --policy.api_key, or YARDARM_API_KEY"
                ) from error
            said = (error.response.body or b"").decode(errors="replace").strip()
            raise ConnectionFault(f"{url} refused the connection: HTTP {status} {said}") from error
        except (ConnectionClosed, InvalidHandshake, EOFError, OSError) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise ConnectionFault(f"the connection to {url} failed: {reason}") from error
