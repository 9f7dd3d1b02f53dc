"""Does many jobs at once on threads, and gives their results in order. Decoding and encoding let Python go on."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from yardarm.machine import usable_cores

__all__ = ["Pool"]

Result = TypeVar("Result")
Job = Callable[[threading.Event], Result]


class Pool:
    """A thread for each core. Jobs are given an event that tells them to stop, so that Ctrl-C need not wait."""

    def __init__(self) -> None:
        self._workers = usable_cores()
        self._threads = ThreadPoolExecutor(self._workers, "editing")
        self._stop = threading.Event()

    def in_order(self, jobs: Iterable[Job[Result]]) -> Iterator[Result]:
        """The jobs' results; as few are begun ahead as keep all cores busy."""
        waiting: deque[Future[Result]] = deque()
        for job in jobs:
            waiting.append(self._threads.submit(job, self._stop))
            if len(waiting) > 2 * self._workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._threads.shutdown(cancel_futures=True)
