"""Keeps a twin in step with the clock on the wall."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

__all__ = ["WallClock"]

log = logging.getLogger(__name__)

# How often it looks at the clock: below this, no client notices.
LOOK_EVERY_S = 0.005
# A machine that is too busy loses time rather than run after it: the arm pauses, and does not leap.
LARGEST_LAG_S = 0.25


class WallClock:
    """Calls `advance` with the seconds that have passed, from a thread of its own, until it is closed."""

    def __init__(self, advance: Callable[[float], None]) -> None:
        self._advance = advance
        self.lost_s = 0.0
        """How much time the machine was too busy for."""
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="twin's clock", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop."""
        self._closed.set()
        self._thread.join()

    def _run(self) -> None:
        done = time.monotonic()
        while not self._closed.wait(LOOK_EVERY_S):
            now = time.monotonic()
            if now - done > LARGEST_LAG_S:
                self.lost_s += now - done - LOOK_EVERY_S
                done = now - LOOK_EVERY_S
            try:
                self._advance(now - done)
            except Exception:
                log.exception("the twin stands still")  # a script of the user's failed; motors still answer
                return
            done = now
