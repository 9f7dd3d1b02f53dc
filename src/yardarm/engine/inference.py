"""Asks the policy, without keeping the scheduler waiting.

    the scheduler's thread                           threads that one `Inference` owns
    ──────────────────────                           ─────────────────────────────────
    submit ─── batches ────────────────────────────▶ infer: one thread, or one for each lane
      serves workers; checks the time limit            (policies in this process wait for the `ComputeTurn`)
    collect ◀─ answers, and a byte in the pipe ────── puts the answer, rings
    call("start" | "finish" | …) ─── other calls ──▶ a thread of its own
      waits for the result, at most the time limit

A `quick` policy's `infer` is waited for like `start`. A thread that hangs is abandoned (`policy_thread.py`).
"""

from __future__ import annotations

import contextlib
import operator
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from yardarm.engine.policy_thread import Calls, ComputeTurn, PolicyThread, TimeLimit
from yardarm.errors import ConnectionFault, PolicyFault, one_line, trace_of
from yardarm.policies import ActionChunk, LoadedPolicy, Request

__all__ = ["LOOK_EVERY_S", "Answer", "Inference", "Tally"]

# How often to check whether a policy has been computing for too long.
LOOK_EVERY_S = 0.5

Owner = TypeVar("Owner")
Result = TypeVar("Result")


@dataclass(slots=True)
class Answer(Generic[Owner]):
    """A policy's chunks for one batch, whose they are, or why there are none."""

    owners: Sequence[Owner]
    chunks: Sequence[ActionChunk] = ()
    seconds: float = 0.0
    error: PolicyFault | None = None
    """What the policy raised: it would raise again."""
    lost: str | None = None
    """How the connection to the policy broke: asking again may help."""


@dataclass(slots=True)
class Tally:
    """Sums over all answers. The load of an answer is its batch's size; with lanes, the number of pending requests."""

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

    While the policy computes, the scheduler serves workers: a finished episode is written down and the next one begun.
    A policy that says it is `quick` is waited for, because a descriptor takes 0.1 ms to signal its answer. One that
    lives elsewhere has several `lanes`: requests of one episode each, which wait for no other answer.

    A policy that takes longer than the `time_limit` is given up. `turn` keeps two policies that compute in this process
    from doing so at the same time.
    """

    def __init__(
        self, loaded: LoadedPolicy, time_limit: TimeLimit | None = None, turn: ComputeTurn | None = None
    ) -> None:
        self._policy = loaded.policy
        self._time_limit = time_limit or TimeLimit()
        self._turn = None if loaded.traits.lanes else turn
        self._quick = loaded.traits.quick
        self._lanes = loaded.traits.lanes or 1
        self._batches: Calls = SimpleQueue()
        self._thinkers: list[PolicyThread] = []
        self._other_calls: Calls = SimpleQueue()
        self._caller: PolicyThread | None = None
        self._answers: SimpleQueue[Answer[Owner]] = SimpleQueue()
        self.descriptor, self._bell = os.pipe()
        self._thinking = 0
        self._warm = False
        self._given_up = False
        self.tally = Tally()

    @property
    def threads(self) -> list[int]:
        """The system's numbers of the threads that call the policy."""
        return [thread.native_id for thread in self._all_threads()]

    @property
    def busy(self) -> bool:
        """Whether an answer is pending."""
        return self._thinking > 0 and not self._given_up

    def room(self, waiting: int) -> int:
        """How many of the waiting requests the next batch can hold."""
        if self._thinking == self._lanes or self._given_up:
            return 0
        return waiting if self._lanes == 1 else min(waiting, 1)

    def submit(self, owners: Sequence[Owner], requests: Sequence[Request]) -> None:
        """Hand over a batch; `collect` returns its answer, later or at once."""
        assert self.room(len(requests)) == len(requests), "more than there is room for"
        self._thinking += 1
        if self._quick:
            self._answers.put(self._wait_for(partial(self._ask, owners, requests), "infer"))
            return
        if len(self._thinkers) < self._thinking:
            self._thinkers.append(PolicyThread(self._batches))
        self._batches.put(partial(self._answer, owners, requests))

    def collect(self) -> list[Answer[Owner]]:
        """The answers since the last call; raises if the policy has failed, or hangs."""
        answers = []
        while not self._answers.empty():
            answer = self._answers.get()
            answers.append(answer)
            self._count(answer)
            self._thinking -= 1
            if not self._quick:
                os.read(self.descriptor, 1)
        for answer in answers:
            if answer.error is not None:
                raise answer.error
        for thread in self._thinkers if self.busy else ():
            self._look_at(thread, "infer")
        return answers

    def call(self, method: str, *arguments: Any) -> Any:
        """Call another of the policy's methods, and wait for what it returns or raises."""

        def call(thread: PolicyThread) -> tuple[Any, BaseException | None]:
            try:
                with thread.computing():
                    return getattr(self._policy, method)(*arguments), None
            except BaseException as error:  # even `sys.exit`: in a thread it would end the thread alone
                return None, error

        value, error = self._wait_for(call, method)
        if isinstance(error, PolicyFault):  # it says itself what is wrong
            raise error
        if error is not None:
            raise PolicyFault(f"the policy raised {one_line(error)} (in `{method}`)", trace_of(error)) from error
        return value

    def _wait_for(self, call: Callable[[PolicyThread], Result], method: str) -> Result:
        """Have a call made in a thread, while this one waits."""
        if self._caller is None:
            self._caller = PolicyThread(self._other_calls)
        results: SimpleQueue[Result] = SimpleQueue()
        self._other_calls.put(lambda thread: results.put(call(thread)))
        while True:
            try:
                return results.get(timeout=LOOK_EVERY_S)
            except Empty:
                self._look_at(self._caller, method)

    def _look_at(self, thread: PolicyThread, method: str) -> None:
        try:
            self._time_limit.look_at(thread, method)
        except PolicyFault:
            self._given_up = True
            if self._turn is not None:
                self._turn.take_from(self)
            raise

    def _all_threads(self) -> list[PolicyThread]:
        return [*self._thinkers, *([self._caller] if self._caller else [])]

    def _count(self, answer: Answer[Owner]) -> None:
        # The first answer takes longer than any other: libraries and devices are still being set up.
        if self._warm and answer.lost is None:
            self.tally.count(self._thinking if self._lanes > 1 else len(answer.owners), answer.seconds)
        self._warm = True

    @property
    def given_up(self) -> bool:
        """Whether the policy hangs, and is not called any more."""
        return self._given_up

    def close(self) -> None:
        """End the threads; one in the middle of a call is abandoned, and ends with the process."""
        for _ in self._thinkers:
            self._batches.put(None)
        self._other_calls.put(None)
        idle = not self.busy and not self._given_up
        if idle and all(thread.join(LOOK_EVERY_S) for thread in self._all_threads()):
            os.close(self.descriptor)
            os.close(self._bell)

    def _answer(self, owners: Sequence[Owner], requests: Sequence[Request], thread: PolicyThread) -> None:
        self._answers.put(self._ask(owners, requests, thread))
        os.write(self._bell, b"!")

    def _ask(self, owners: Sequence[Owner], requests: Sequence[Request], thread: PolicyThread) -> Answer[Owner]:
        started = time.perf_counter()
        try:
            with self._turn.held_by(self) if self._turn else contextlib.nullcontext(), thread.computing():
                chunks = list(self._policy.infer(requests))
        except PolicyFault as fault:  # it says itself what is wrong
            return Answer(owners, error=fault)
        except ConnectionFault as fault:
            return Answer(owners, lost=str(fault))
        except BaseException as error:  # even `sys.exit`: in a thread it would end the thread, and the run would wait
            return Answer(owners, error=PolicyFault(f"the policy raised {one_line(error)}", trace_of(error)))
        if len(chunks) != len(requests):
            miscounted = PolicyFault(f"the policy answered {len(requests)} requests with {len(chunks)} chunks")
            return Answer(owners, error=miscounted)
        return Answer(owners, chunks, time.perf_counter() - started)
