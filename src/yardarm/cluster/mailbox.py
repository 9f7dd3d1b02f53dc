"""A queue that a selector can wait for."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable
from queue import SimpleQueue
from typing import Generic, TypeVar

__all__ = ["Mailbox"]

Item = TypeVar("Item")


class Mailbox(Generic[Item]):
    """Filled by any thread, emptied by one; `descriptor` is readable while there may be something in it."""

    def __init__(self) -> None:
        self.descriptor, self._bell = os.pipe()
        for end in (self.descriptor, self._bell):
            os.set_blocking(end, False)
        self._lock = threading.Lock()
        self._is_closed = False
        self._items: SimpleQueue[Item] = SimpleQueue()

    def put(self, items: Iterable[Item]) -> None:
        """Add items, and make the descriptor readable."""
        for item in items:
            self._items.put(item)
        with self._lock:
            if self._is_closed:  # the descriptor may belong to another file by now
                return
            with contextlib.suppress(BlockingIOError):  # it is readable already
                os.write(self._bell, b"!")

    def take_all(self) -> list[Item]:
        """Take all items; there may be none."""
        with contextlib.suppress(BlockingIOError):
            os.read(self.descriptor, 65536)
        items = []
        while not self._items.empty():
            items.append(self._items.get())
        return items

    def close(self) -> None:
        """Ignore all further items."""
        with self._lock:
            self._is_closed = True
            os.close(self._bell)
            os.close(self.descriptor)
