"""Requests of all connections, in batches: whoever asks while the policy thinks is in the next batch."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from yardarm_serve.backend import Answer, Backend, Request

__all__ = ["Batcher", "Limits"]

Result = TypeVar("Result")
# Of the time that a batch takes: what a wait may cost is a tenth, and what it may bring is twice the speed.
WAIT_SHARE = 0.1


@dataclass
class Limits:
    """How batches are put together; clients of vla-eval may change it while the server runs."""

    max_batch_size: int = 64
    max_wait_time: float | None = None
    """Seconds that a free policy waits for others; None is a tenth of what the last batch took."""


@dataclass
class Served:
    """What was done so far."""

    batches: Counter[int] = field(default_factory=Counter)
    """How often a batch had so many requests."""
    errors: int = 0

    @property
    def requests(self) -> int:
        return sum(size * count for size, count in self.batches.items())


class Batcher:
    """Has one thread ask the backend, always the same one.

    Clients that were answered together ask again at nearly the same time. Without a moment's wait the first of them
    would be a batch of one, the others the next batch, and so on for ever: two batches where one would do.
    """

    def __init__(self, backend: Backend, limits: Limits) -> None:
        self.backend = backend
        self.limits = limits
        self.served = Served()
        self._waiting: list[tuple[Request, asyncio.Future[Answer]]] = []
        self._bell = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="policy")
        self._last_s = 0.0
        self.clients = 0
        """Who may ask; when all of them wait, nobody else is waited for."""

    async def call(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Call something of the backend's in its thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)

    async def ask(self, request: Request) -> Answer:
        """Have a request answered together with those of others."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        self._bell.set()
        return await future

    async def run(self) -> None:
        """Answer requests until cancelled."""
        try:
            while True:
                await self._gather()
                await self._answer_batch()
        finally:
            self._thread.shutdown(wait=False, cancel_futures=True)

    async def _gather(self) -> None:
        """Wait for a request, and a moment for more, as long as more may come."""
        while not self._waiting:
            await self._somebody_asks(None)
        until = time.perf_counter() + self._patience_s()
        while len(self._waiting) < min(self.limits.max_batch_size, self.clients):
            left_s = until - time.perf_counter()
            if left_s <= 0 or not await self._somebody_asks(left_s):
                return

    async def _somebody_asks(self, within_s: float | None) -> bool:
        self._bell.clear()
        try:
            await asyncio.wait_for(self._bell.wait(), within_s)
        except (TimeoutError, asyncio.TimeoutError):  # two classes before Python 3.11
            return False
        return True

    def _patience_s(self) -> float:
        if self.limits.max_wait_time is not None:
            return self.limits.max_wait_time
        return WAIT_SHARE * self._last_s if getattr(self.backend, "gains_from_batches", True) else 0.0

    async def _answer_batch(self) -> None:
        size = self.limits.max_batch_size
        batch, self._waiting = self._waiting[:size], self._waiting[size:]
        batch = [(request, future) for request, future in batch if not future.cancelled()]  # who left is not waiting
        if not batch:
            return
        started = time.perf_counter()
        answers = await self.call(self._infer, [request for request, _ in batch])
        self._last_s = time.perf_counter() - started
        self.served.batches[len(batch)] += 1
        for (_, future), answer in zip(batch, answers, strict=True):
            if future.cancelled():
                continue
            if isinstance(answer, Exception):
                self.served.errors += 1
                future.set_exception(answer)
            else:
                future.set_result(answer)

    def _infer(self, requests: Sequence[Request]) -> Sequence[Answer | Exception]:
        """Answers, or for each request what went wrong with it."""
        try:
            answers = list(self.backend.infer(requests))
            if len(answers) != len(requests):
                raise RuntimeError(f"the backend answered {len(requests)} requests with {len(answers)} answers")
        except Exception as error:
            if len(requests) == 1:
                return [error]
            return [self._infer([request])[0] for request in requests]
        return [_checked(answer) for answer in answers]


def _checked(answer: Answer) -> Answer | Exception:
    actions = np.asarray(answer.actions, dtype=np.float32)
    if actions.ndim != 2 or not len(actions) or not np.isfinite(actions).all():
        return RuntimeError(f"the policy's actions are unusable: shape {actions.shape}, or not all finite")
    return Answer(actions, answer.looks)
