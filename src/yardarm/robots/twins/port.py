"""A pseudo-terminal with motors behind it: any program can open it as a serial port.

a program ──▶ /dev/pts/N ──▶ the server's thread ──▶ answer(bytes) ──▶ what is sent back, and when
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import os
import pty
import select
import threading
import time
import tty
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

__all__ = ["Outgoing", "PortServer"]

CHUNK = 4096


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Bytes that leave the motors' end of the cable, so long after the request."""

    content: bytes
    after_s: float = 0.0
    not_before: float = 0.0
    """The earliest time, by `time.monotonic`; what may leave at the same time leaves in the order of the answers."""


class PortServer:
    """Serves a pseudo-terminal in a thread of its own. `answer` gets what is sent to the motors, in any portions."""

    def __init__(self, answer: Callable[[bytes], Iterable[Outgoing]]) -> None:
        self._answer = answer
        self._motors, self._computer = pty.openpty()
        tty.setraw(self._computer)
        os.set_blocking(self._motors, False)
        self.path = os.ttyname(self._computer)
        self._waiting: list[tuple[float, int, bytes]] = []
        self._order = itertools.count()
        self._taking = threading.Lock()
        self._stopped, self._stop = os.pipe()
        self._thread = threading.Thread(target=self._serve, name="twin", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Take the port away."""
        os.write(self._stop, b"x")
        self._thread.join()
        for descriptor in (self._motors, self._computer, self._stopped, self._stop):
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def settle(self) -> None:
        """Return once the motors have heard everything that was sent until now, answered or not."""
        while True:
            with self._taking:
                ready, _, _ = select.select([self._motors], [], [], 0)
                if not ready:
                    return
            time.sleep(0.0002)

    def _serve(self) -> None:
        while True:
            wait = max(0.0, self._waiting[0][0] - time.monotonic()) if self._waiting else None
            ready, _, _ = select.select([self._motors, self._stopped], [], [], wait)
            if self._stopped in ready:
                return
            if self._motors in ready:
                self._take()
            while self._waiting and self._waiting[0][0] <= time.monotonic():
                with contextlib.suppress(OSError):  # nobody reads
                    os.write(self._motors, heapq.heappop(self._waiting)[2])

    def _take(self) -> None:
        """Hand what has come to the motors."""
        now = time.monotonic()
        with self._taking:
            for out in self._answer(os.read(self._motors, CHUNK)):
                leaves = max(now + out.after_s, out.not_before)
                heapq.heappush(self._waiting, (leaves, next(self._order), out.content))
