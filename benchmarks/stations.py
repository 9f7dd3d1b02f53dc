"""The parts of the simulation: an event heap, and stations that items wait for."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Timeline:
    """Future events, in order of time."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()  # events at the same time keep the order in which they were added

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now + seconds, next(self._numbers), action))

    def step(self) -> bool:
        """Run the next event; False if there is none."""
        if not self._events:
            return False
        self.now, _, action = heapq.heappop(self._events)
        action()
        return True


class Station(Generic[Item]):
    """Serves one batch at a time: all items that wait when it becomes free, up to `most`.

    The driver, a replica, a network link and the writer are stations. The writer waits at least `every_s` from the
    start of one batch to the start of the next.
    """

    def __init__(
        self,
        timeline: Timeline,
        seconds: Callable[[Sequence[Item]], float],
        done: Callable[[Sequence[Item]], None],
        most: int | None = None,
        every_s: float = 0.0,
    ) -> None:
        self._timeline = timeline
        self._seconds = seconds
        self._done = done
        self._most = most
        self._every_s = every_s
        self._waiting: deque[Item] = deque()
        self._free = True
        self.busy_s = 0.0

    def put(self, item: Item) -> None:
        self._waiting.append(item)
        self._serve()

    def _serve(self) -> None:
        if not self._free or not self._waiting:
            return
        count = min(len(self._waiting), self._most or len(self._waiting))
        batch = [self._waiting.popleft() for _ in range(count)]
        seconds = self._seconds(batch)
        self._free = False
        self._timeline.after(seconds, lambda: self._finish(batch, seconds))
        if seconds < self._every_s:
            self._timeline.after(self._every_s, self._reopen)

    def _finish(self, batch: Sequence[Item], seconds: float) -> None:
        self.busy_s += seconds
        self._done(batch)
        if seconds >= self._every_s:
            self._reopen()

    def _reopen(self) -> None:
        self._free = True
        self._serve()
