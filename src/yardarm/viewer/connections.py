"""Closes connections that only take up room: uvicorn itself waits for ever for a request that has begun."""

from __future__ import annotations

import asyncio
import socket

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["PunctualProtocol", "notice_lost_readers"]

REQUEST_WITHIN_S = 10.0
# A reader that takes nothing for so long is gone, or might as well be: a browser asks again for the rest of a video.
READ_WITHIN_S = 120


class PunctualProtocol(H11Protocol):
    """Speaks HTTP with a client whose requests must arrive in time, the first and each that follows."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The first request is due."""
        super().connection_made(transport)
        self._expect_request()

    def data_received(self, data: bytes) -> None:
        """Perhaps it is complete now."""
        super().data_received(data)
        if self._is_answering():
            self._forget_deadline()

    def on_response_complete(self) -> None:
        """The next request is due, unless it is here already."""
        super().on_response_complete()
        if not self._is_answering():
            self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is due any more."""
        self._forget_deadline()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _expect_request(self) -> None:
        self._forget_deadline()
        self._deadline = self.loop.call_later(REQUEST_WITHIN_S, self.transport.close)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def notice_lost_readers(listening: socket.socket) -> None:
    """Have the kernel close the connections of a socket whose other end is silent; they inherit it."""
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    options = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": READ_WITHIN_S * 1000}
    for name, value in options.items():
        if hasattr(socket, name):  # not every system has them
            listening.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
