"""What is asked of two arms at the same time: each waits for its own line, and neither for the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, TypeVar

from yardarm.robots.uninterrupted import uninterrupted

__all__ = ["SideBySide"]

T = TypeVar("T")


class SideBySide:
    """Calls a function for several things at once; the first one's call is made by the caller itself.

    caller ──▶ the first ──────────▶ waits ──▶ all answers, or the first failure
    thread ──▶ the second ────────────┘
    """

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None

    def __call__(self, act: Callable[[Any], T], things: Mapping[str, Any]) -> dict[str, T]:
        """What came of each, by name. Nothing is going on any more when it returns or raises."""
        (first, own), *others = things.items()
        if self._threads is None:
            self._threads = ThreadPoolExecutor(max(1, len(others)), "arm")
        with uninterrupted():  # Ctrl-C must not leave a thread behind that talks to an arm
            started = {name: self._threads.submit(act, thing) for name, thing in others}
            try:
                mine = act(own)
            finally:
                wait(started.values())
        return {first: mine, **{name: future.result() for name, future in started.items()}}
