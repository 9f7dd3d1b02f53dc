"""Asks the policy, without keeping the scheduler waiting."""

from __future__ import annotations

import os
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from queue import SimpleQueue

from yardarm.errors import PolicyFault
from yardarm.policies import ActionChunk, Policy, Request

__all__ = ["Answer", "Inference"]


@dataclass(slots=True)
class Answer:
    """A policy's chunks for one batch, or what it raised."""

    chunks: Sequence[ActionChunk] = ()
    seconds: float = 0.0
    error: str | None = None


class Inference:
    """One policy, one batch at a time, in a thread of its own, always the same one.

    While the policy thinks, the scheduler goes on serving workers: a finished episode is written down and the next one
    begun. A policy that says it is `quick` is called in place, because the way to a thread and back costs 0.1 ms.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._in_place = bool(getattr(policy, "quick", False))
        self._batches: SimpleQueue[Sequence[Request] | None] = SimpleQueue()
        self._answers: SimpleQueue[Answer] = SimpleQueue()
        self.descriptor, self._bell = os.pipe()
        self.busy = False
        self._thread = threading.Thread(target=self._work, name="policy", daemon=True)
        self._thread.start()

    def submit(self, requests: Sequence[Request]) -> None:
        """Hand over a batch; `collect` gives its answer later, or at once."""
        assert not self.busy, "one batch at a time"
        self.busy = True
        if self._in_place:
            self._answers.put(self._ask(requests))
        else:
            self._batches.put(requests)

    def collect(self) -> Answer | None:
        """The answer to the batch, or None while the policy is thinking."""
        if self._answers.empty():
            return None
        answer = self._answers.get()
        self.busy = False
        if not self._in_place:
            os.read(self.descriptor, 1)
        if answer.error is not None:
            raise PolicyFault(answer.error)
        return answer

    def close(self) -> None:
        """End the thread; one that is in the middle of a batch is left to itself, and ends with the process."""
        self._batches.put(None)
        if not self.busy:
            self._thread.join()
            os.close(self.descriptor)
            os.close(self._bell)

    def _work(self) -> None:
        while (requests := self._batches.get()) is not None:
            self._answers.put(self._ask(requests))
            os.write(self._bell, b"!")

    def _ask(self, requests: Sequence[Request]) -> Answer:
        started = time.perf_counter()
        try:
            chunks = list(self._policy.infer(requests))
        except PolicyFault as fault:  # it says itself what is wrong
            return Answer(error=str(fault))
        except BaseException:  # even `sys.exit`: in a thread it would end the thread, and the run would wait forever
            return Answer(error=f"the policy raised:\n{traceback.format_exc()}")
        if len(chunks) != len(requests):
            return Answer(error=f"the policy answered {len(requests)} requests with {len(chunks)} chunks")
        return Answer(chunks, time.perf_counter() - started)
