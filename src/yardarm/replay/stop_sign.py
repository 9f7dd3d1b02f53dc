"""A sign that whoever waits for workers sees at once."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Self

__all__ = ["StopSign"]


class StopSign:
    """Has a descriptor that can be read as soon as all is to be given up: because somebody said so, or time is over."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.descriptor, self._other_end = os.pipe()
        self.is_raised = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    def close(self) -> None:
        """Take it down, once nobody looks at it any more."""
        with self._lock:
            self.is_raised = True
            os.close(self.descriptor)
            os.close(self._other_end)

    def stop(self) -> None:
        """Raise it, once and for all."""
        with self._lock:
            if not self.is_raised:
                self.is_raised = True
                os.write(self._other_end, b"x")

    @contextlib.contextmanager
    def after(self, seconds: float) -> Iterator[None]:
        """Raise it if the work inside takes longer."""
        timer = threading.Timer(seconds, self.stop)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
