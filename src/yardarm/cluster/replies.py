"""Brings the replies of Ray's actors to the one thread that waits for them."""

from __future__ import annotations

import select
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from yardarm.cluster.mailbox import Mailbox
from yardarm.cluster.placed import Reports

__all__ = ["ActorReplies"]


@dataclass(frozen=True, slots=True)
class _Reply:
    """The future that has an actor's answer or error, and what to do with it."""

    hear: Callable[[Any], Reports]
    future: Any


class ActorReplies:
    """Calls to actors that are not answered yet. Ray's threads hand answers in; the thread that reads them acts."""

    def __init__(self) -> None:
        self._mailbox = Mailbox[_Reply]()

    def expect(self, reference: Any, hear: Callable[[Any], Reports]) -> None:
        """When the actor has replied, have `read` call `hear`, which returns what workers have reported."""
        reference.future().add_done_callback(lambda future: self._mailbox.put([_Reply(hear, future)]))

    def wait(self, also: Sequence[int], seconds: float) -> bool:
        """Wait for a reply; returns whether a descriptor in `also` is readable."""
        poll = select.poll()  # a process that talks to many nodes has more descriptors than `select` can count
        for descriptor in (self._mailbox.descriptor, *also):
            poll.register(descriptor, select.POLLIN)
        return any(descriptor in also for descriptor, _ in poll.poll(1000 * max(0.0, seconds)))

    def read(self) -> Reports:
        """Hear all replies that have arrived."""
        return [report for reply in self._mailbox.take_all() for report in reply.hear(reply.future)]

    def close(self) -> None:
        """Ignore what is still to come."""
        self._mailbox.close()
