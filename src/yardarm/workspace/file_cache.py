"""Caches what is slow to read until its files change."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

__all__ = ["FileCache", "Stamp", "stamp_of"]

# This many runs or datasets are kept in memory in full.
KEPT = 8

T = TypeVar("T")
Stamp = tuple[tuple[int, int] | None, ...]


class FileCache(Generic[T]):
    """The most recently read values, each valid until its stamp changes."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[Stamp, T]] = OrderedDict()

    def get(self, name: str, stamp: Stamp, read: Callable[[], T]) -> T:
        """The cached value of this name, or the one that `read` returns."""
        with self._lock:
            known = self._known.get(name)
        if known is not None and known[0] == stamp:
            return known[1]
        value = read()
        with self._lock:
            self._known[name] = (stamp, value)
            self._known.move_to_end(name)
            while len(self._known) > self._kept:
                self._known.popitem(last=False)
        return value


def stamp_of(path: Path) -> tuple[int, int] | None:
    """A value that changes when the file does; None if it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
