"""Closes idle and dead connections: uvicorn itself waits forever for a request that has started."""

from __future__ import annotations

import asyncio
import socket

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["RequestTimeoutProtocol", "close_dead_connections"]

REQUEST_WITHIN_S = 10.0
# A client that reads nothing for this long counts as gone; a browser asks again for the rest of a video.
READ_WITHIN_S = 120


class RequestTimeoutProtocol(H11Protocol):
    """HTTP with a time limit for each request to arrive."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock for the first request."""
        super().connection_made(transport)
        self._expect_request()

    def data_received(self, data: bytes) -> None:
        """Stop the clock if the request is complete."""
        super().data_received(data)
        if self._is_answering():
            self._clear_deadline()

    def on_response_complete(self) -> None:
        """Start the clock for the next request, unless it has already arrived."""
        super().on_response_complete()
        if not self._is_answering():
            self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._clear_deadline()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _expect_request(self) -> None:
        self._clear_deadline()
        self._deadline = self.loop.call_later(REQUEST_WITHIN_S, self.transport.close)

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def close_dead_connections(listening: socket.socket) -> None:
    """Make the kernel close connections whose other end is silent; they inherit these options from the socket."""
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    options = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": READ_WITHIN_S * 1000}
    for name, value in options.items():
        if hasattr(socket, name):  # not every system has them
            listening.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
