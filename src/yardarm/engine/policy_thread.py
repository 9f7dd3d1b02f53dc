"""Threads in which a policy computes, so that one that hangs holds up nothing else.

    the scheduler's thread                  a thread of the policy
    ──────────────────────                  ──────────────────────
    calls.put(…) ────────── queue ────────▶ the call
      serves workers meanwhile,               │ computing: its clock runs
      looks at the clock now and then         │
      hears of the answer ◀───────────────────┘

Python cannot kill a thread. One that takes too long is abandoned: nobody reads its answer, and it ends with the
process.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TypeAlias

from yardarm.errors import PolicyFault, stack_of

__all__ = ["Calls", "ComputeTurn", "PolicyThread", "TimeLimit"]

# The first inference of a large model may rightly take this long.
SAY_AFTER_S = 30.0

Calls: TypeAlias = "SimpleQueue[Callable[[PolicyThread], None] | None]"
"""Calls that one thread, or any of several, makes next; None ends one. A call gets its thread, and must not raise."""


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """How long a policy may compute, and who is told when it is slow."""

    policy: str = ""
    limit_s: float = float("inf")
    on_slow: Callable[[str, float, float], None] = lambda policy, seconds, limit_s: None

    def look_at(self, thread: PolicyThread, method: str) -> None:
        """Report how long a call has taken, each time that has doubled; raise at the limit."""
        seconds = thread.seconds
        # Also at the limit: a busy machine may not have looked before.
        if seconds > max(min(SAY_AFTER_S, self.limit_s / 2), 2 * thread.said_s):
            thread.said_s = seconds
            self.on_slow(self.policy, seconds, self.limit_s)
        if seconds > self.limit_s:
            raise PolicyFault(
                f"the policy {self.policy} hangs: `{method}` has not answered for {self.limit_s:g} s "
                "(--eval.timeout_s allows it more)",
                f"where `{method}` hangs (most recent call last):\n{thread.stack()}",
            )


class PolicyThread:
    """Makes one call after the other, and knows how long the current one has been computing."""

    def __init__(self, calls: Calls) -> None:
        self.said_s = 0.0
        """How long the current call had taken when that was last reported."""
        self._calls = calls
        self._since: float | None = None
        self._thread = threading.Thread(target=self._work, name="policy", daemon=True)
        self._thread.start()

    @property
    def native_id(self) -> int:
        """The system's number for it."""
        return self._thread.native_id or 0

    @property
    def seconds(self) -> float:
        """How long the current call has been computing; 0 if there is none, or it waits for its turn."""
        since = self._since
        return 0.0 if since is None else time.monotonic() - since

    @contextlib.contextmanager
    def computing(self) -> Iterator[None]:
        """Start the clock; entered by the call itself."""
        self.said_s = 0.0
        self._since = time.monotonic()
        try:
            yield
        finally:
            self._since = None

    def stack(self) -> str:
        """Where it is right now."""
        return stack_of(self._thread.ident)

    def join(self, at_most_s: float) -> bool:
        """Wait until it has ended; returns whether it has."""
        self._thread.join(at_most_s)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            call(self)


class ComputeTurn:
    """Lets one of several policies compute at a time: torch's threads are the process's."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._holder: object | None = None

    @contextlib.contextmanager
    def held_by(self, holder: object) -> Iterator[None]:
        """Wait for the turn, and keep it for a while."""
        with self._changed:
            self._changed.wait_for(lambda: self._holder is None)
            self._holder = holder
        try:
            yield
        finally:
            self.take_from(holder)

    def take_from(self, holder: object) -> None:
        """Let the next one compute; a holder that hangs loses its turn, and returns nothing later."""
        with self._changed:
            if self._holder is holder:
                self._holder = None
                self._changed.notify()
