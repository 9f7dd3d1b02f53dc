"""Asks the policy, without keeping the scheduler waiting."""

from __future__ import annotations

import contextlib
import operator
import os
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from queue import SimpleQueue
from typing import Generic, TypeVar

from yardarm.errors import ConnectionFault, PolicyFault
from yardarm.policies import ActionChunk, Policy, Request

__all__ = ["Answer", "Inference", "Tally"]

Owner = TypeVar("Owner")


@dataclass(slots=True)
class Answer(Generic[Owner]):
    """A policy's chunks for one batch, whose they are, or why there are none."""

    owners: Sequence[Owner]
    chunks: Sequence[ActionChunk] = ()
    seconds: float = 0.0
    error: str | None = None
    """What the policy raised: it would raise again."""
    lost: str | None = None
    """How the way to the policy broke: asking again may help."""


@dataclass(slots=True)
class Tally:
    """Sums over all answers. The load of an answer is its batch, or how many were in the air if there are lanes."""

    answers: int = 0
    seconds: float = 0.0
    load: int = 0
    load_squared: int = 0
    load_seconds: float = 0.0

    def count(self, load: int, seconds: float) -> None:
        """Add an answer."""
        self.answers += 1
        self.seconds += seconds
        self.load += load
        self.load_squared += load * load
        self.load_seconds += load * seconds

    def __add__(self, other: Tally) -> Tally:
        return Tally(*map(operator.add, astuple(self), astuple(other)))

    def __sub__(self, other: Tally) -> Tally:
        return Tally(*map(operator.sub, astuple(self), astuple(other)))


class Inference(Generic[Owner]):
    """One policy in threads of its own: mostly one, which gets all that waits as one batch.

    While the policy thinks, the scheduler goes on serving workers: a finished episode is written down and the next one
    begun. A policy that says it is `quick` is called in place, because the way to a thread and back costs 0.1 ms. One
    that lives elsewhere has several `lanes`: requests of one episode each, which wait for nobody else's answer.

    `turn` keeps two policies that compute in this process from doing so at the same time.
    """

    def __init__(self, policy: Policy, turn: threading.Lock | None = None) -> None:
        self._policy = policy
        self._turn = contextlib.nullcontext() if turn is None or hasattr(policy, "lanes") else turn
        self._in_place = bool(getattr(policy, "quick", False))
        self._lanes = int(getattr(policy, "lanes", 1))
        self._batches: SimpleQueue[tuple[Sequence[Owner], Sequence[Request]] | None] = SimpleQueue()
        self._answers: SimpleQueue[Answer[Owner]] = SimpleQueue()
        self.descriptor, self._bell = os.pipe()
        self._threads: list[threading.Thread] = []
        self._thinking = 0
        self._warm = False
        self.tally = Tally()

    @property
    def in_place(self) -> bool:
        """Whether the policy is called in the scheduler's own thread."""
        return self._in_place

    @property
    def threads(self) -> list[int]:
        """The threads that call the policy, as the system numbers them."""
        return [thread.native_id for thread in self._threads if thread.native_id is not None]

    @property
    def busy(self) -> bool:
        """Whether an answer is to come."""
        return self._thinking > 0

    def room(self, waiting: int) -> int:
        """How many of the waiting requests the next batch can hold."""
        if self._thinking == self._lanes:
            return 0
        return waiting if self._lanes == 1 else min(waiting, 1)

    def submit(self, owners: Sequence[Owner], requests: Sequence[Request]) -> None:
        """Hand over a batch; `collect` gives its answer later, or at once."""
        assert self.room(len(requests)) == len(requests), "more than there is room for"
        self._thinking += 1
        if self._in_place:
            self._answers.put(self._ask(owners, requests))
            return
        if len(self._threads) < self._thinking:
            self._threads.append(threading.Thread(target=self._work, name="policy", daemon=True))
            self._threads[-1].start()
        self._batches.put((owners, requests))

    def collect(self) -> list[Answer[Owner]]:
        """The answers that have come since the last call."""
        answers = []
        while not self._answers.empty():
            answer = self._answers.get()
            answers.append(answer)
            self._count(answer)
            self._thinking -= 1
            if not self._in_place:
                os.read(self.descriptor, 1)
        for answer in answers:
            if answer.error is not None:
                raise PolicyFault(answer.error)
        return answers

    def _count(self, answer: Answer[Owner]) -> None:
        # The first answer takes longer than any other: libraries and devices are still being set up.
        if self._warm and answer.lost is None:
            self.tally.count(self._thinking if self._lanes > 1 else len(answer.owners), answer.seconds)
        self._warm = True

    def close(self) -> None:
        """End the threads; one that is in the middle of a batch is left to itself, and ends with the process."""
        for _ in self._threads:
            self._batches.put(None)
        if not self.busy:
            for thread in self._threads:
                thread.join()
            os.close(self.descriptor)
            os.close(self._bell)

    def _work(self) -> None:
        while (batch := self._batches.get()) is not None:
            self._answers.put(self._ask(*batch))
            os.write(self._bell, b"!")

    def _ask(self, owners: Sequence[Owner], requests: Sequence[Request]) -> Answer[Owner]:
        started = time.perf_counter()
        try:
            with self._turn:
                chunks = list(self._policy.infer(requests))
        except PolicyFault as fault:  # it says itself what is wrong
            return Answer(owners, error=str(fault))
        except ConnectionFault as fault:
            return Answer(owners, lost=str(fault))
        except BaseException:  # even `sys.exit`: in a thread it would end the thread, and the run would wait forever
            return Answer(owners, error=f"the policy raised:\n{traceback.format_exc()}")
        if len(chunks) != len(requests):
            return Answer(owners, error=f"the policy answered {len(requests)} requests with {len(chunks)} chunks")
        return Answer(owners, chunks, time.perf_counter() - started)
