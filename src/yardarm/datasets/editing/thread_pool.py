"""Runs many jobs in threads, and returns their results in order. Decoding and encoding release Python's lock."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from yardarm.machine import usable_cores

__all__ = ["ThreadPool"]

Result = TypeVar("Result")
Job = Callable[[threading.Event], Result]


class ThreadPool:
    """One thread per core. Each job gets an event that tells it to stop, so that Ctrl-C is quick."""

    def __init__(self) -> None:
        self._workers = usable_cores()
        self._threads = ThreadPoolExecutor(self._workers, "editing")
        self._stop = threading.Event()

    def in_order(self, jobs: Iterable[Job[Result]]) -> Iterator[Result]:
        """The jobs' results in order; only as many jobs are started in advance as keep all cores busy."""
        waiting: deque[Future[Result]] = deque()
        for job in jobs:
            waiting.append(self._threads.submit(job, self._stop))
            if len(waiting) > 2 * self._workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def __enter__(self) -> ThreadPool:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop.set()
        self._threads.shutdown(cancel_futures=True)
