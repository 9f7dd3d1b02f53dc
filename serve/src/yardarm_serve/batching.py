"""Answers the requests of all connections in batches.

connection's task                Batcher.run (one task)                       policy thread
ask() adds a request ──────────▶ _gather: waits for the first request,
   and waits for its answer      then for more, until all clients have
                                 asked, at most a tenth of the last batch's time
                                 _answer_batch ── backend.infer(batch) ─────▶ computes
ask() meanwhile: the request     waits for the thread                            │
   is for the next batch                             ◀──────────── answers ──────┘
each ask() returns ◀──────────── hands out the answers
"""

from __future__ import annotations

import asyncio
import copy
import queue
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from yardarm_serve.backend import Answer, Backend, Request

__all__ = ["Batcher", "Limits", "Served"]

Result = TypeVar("Result")
# As a share of a batch's time: waiting costs at most a tenth, and may double the speed.
WAIT_SHARE = 0.1
# The first batch may compile for minutes, which says nothing about the next.
LONGEST_WAIT_S = 0.25


@dataclass
class Limits:
    """How batches are formed; clients of vla-eval may change it while the server runs."""

    max_batch_size: int = 64
    max_wait_time: float | None = None
    """Seconds that an idle policy waits for more requests; None means a tenth of the last batch's time."""


@dataclass
class Served:
    """Counts of what was served so far."""

    batches: Counter[int] = field(default_factory=Counter)
    """Number of batches by their size."""
    errors: int = 0

    @property
    def requests(self) -> int:
        """Number of requests that got an answer or an error."""
        return sum(size * count for size, count in self.batches.items())


class Batcher:
    """Collects requests, and passes them to the backend in a single thread.

    Clients that were answered together ask again at nearly the same time. Without a short wait, the first of them
    would form a batch of one, and the others the next batch, again and again: two batches instead of one.
    """

    def __init__(self, backend: Backend, limits: Limits) -> None:
        self.backend = backend
        self.limits = limits
        self.served = Served()
        self.clients = 0
        """Number of connected clients; once all of them have asked, the batch waits no longer."""
        self._waiting: list[tuple[Request, asyncio.Future[Answer]]] = []
        self._bell = asyncio.Event()
        self._thread = PolicyThread()
        self._last_s = 0.0

    async def call(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Call a function in the backend's thread."""
        return await self._thread.call(function, *arguments)

    async def ask(self, request: Request) -> Answer:
        """Answer a request, together with other clients' requests."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        self._bell.set()
        return await future

    async def run(self) -> None:
        """Answer requests until cancelled."""
        while True:
            await self._gather()
            await self._answer_batch()

    async def _gather(self) -> None:
        """Wait for a request, and briefly for more, as long as more may come."""
        while not self._waiting:
            await self._wait_for_request(None)
        until = time.perf_counter() + self._patience_s()
        while len(self._waiting) < min(self.limits.max_batch_size, self.clients):
            left_s = until - time.perf_counter()
            if left_s <= 0 or not await self._wait_for_request(left_s):
                return

    async def _wait_for_request(self, within_s: float | None) -> bool:
        self._bell.clear()
        try:
            await asyncio.wait_for(self._bell.wait(), within_s)
        except (TimeoutError, asyncio.TimeoutError):  # two classes before Python 3.11
            return False
        return True

    def _patience_s(self) -> float:
        if self.limits.max_wait_time is not None:
            return self.limits.max_wait_time
        if not getattr(self.backend, "gains_from_batches", True):
            return 0.0
        return min(WAIT_SHARE * self._last_s, LONGEST_WAIT_S)

    async def _answer_batch(self) -> None:
        size = self.limits.max_batch_size
        batch, self._waiting = self._waiting[:size], self._waiting[size:]
        batch = [(request, future) for request, future in batch if not future.done()]  # without clients that left
        if not batch:
            return
        started = time.perf_counter()
        answers = await self.call(_answers, self.backend, [request for request, _ in batch])
        self._last_s = time.perf_counter() - started
        self.served.batches[len(batch)] += 1
        for (_, future), answer in zip(batch, answers, strict=True):
            if future.done():
                continue
            if isinstance(answer, Exception):
                future.set_exception(answer)
            else:
                future.set_result(answer)


class PolicyThread:
    """A thread that does not keep the program from ending, even during a long inference."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="policy", daemon=True).start()

    async def call(self, function: Callable[..., Result], *arguments: Any) -> Result:
        """Call a function in the thread, and wait for its result."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()

        def settle(result: Any, error: Exception | None) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)

        def work() -> None:
            try:
                result, error = function(*arguments), None
            except Exception as caught:
                result, error = None, caught
            except BaseException as caught:  # `sys.exit` in a policy must not end the thread that all share
                result, error = None, RuntimeError(f"{type(caught).__name__}: {caught}")
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, result, error)

        self._calls.put(work)
        return await future

    def _work(self) -> None:
        while True:
            self._calls.get()()


def _answers(backend: Backend, requests: Sequence[Request]) -> list[Answer | Exception]:
    """Each request's answer or error. Only requests with values of the same shapes share a call."""
    if not getattr(backend, "gains_from_batches", True):
        return [_group_answers(backend, [request])[0] for request in requests]
    answers: dict[int, Answer | Exception] = {}
    for places in _batchable(requests):
        answers |= zip(places, _group_answers(backend, [requests[place] for place in places]), strict=True)
    return [answers[place] for place in range(len(requests))]


def _group_answers(backend: Backend, requests: Sequence[Request]) -> list[Answer | Exception]:
    """Answer requests with one call; if it fails, ask each again alone, with its earlier state."""
    try:
        states = [copy.deepcopy(request.state) for request in requests] if len(requests) > 1 else []
        answers = list(backend.infer(requests))
        if len(answers) != len(requests):
            raise RuntimeError(f"the backend answered {len(requests)} requests with {len(answers)} answers")
    except (Exception, SystemExit) as error:
        if len(requests) == 1:
            return [error if isinstance(error, Exception) else RuntimeError(f"the policy called exit: {error}")]
        for request, state in zip(requests, states, strict=False):
            request.state = state
        return [_group_answers(backend, [request])[0] for request in requests]
    return [_checked(answer) for answer in answers]


def _checked(answer: Any) -> Answer | Exception:
    if not isinstance(answer, Answer):
        return RuntimeError(f"the policy must return a list of Answer, but returned {type(answer).__name__}")
    try:
        actions = np.asarray(answer.actions, dtype=np.float32)
    except (TypeError, ValueError) as error:
        return RuntimeError(f"the policy's actions are not an array of numbers: {error}")
    if actions.ndim != 2 or not len(actions):
        return RuntimeError(f"the policy's actions have the shape {actions.shape}, not (number, action size)")
    if not np.isfinite(actions).all():
        return RuntimeError("the policy's actions are not all finite numbers")
    return Answer(actions, answer.looks)


def _batchable(requests: Sequence[Request]) -> list[list[int]]:
    """Groups of requests, by index, whose values have the same names and shapes, and so fit into one batch."""
    groups: dict[Any, list[int]] = {}
    for place, request in enumerate(requests):
        shapes = tuple(
            tuple((name, np.shape(value)) for name, value in sorted(look.values.items())) for look in request.looks[-1:]
        )
        groups.setdefault(shapes, []).append(place)
    return list(groups.values())
