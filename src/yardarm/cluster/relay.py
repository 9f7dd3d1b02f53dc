"""Between a node's workers, the driver, and the hosts of policies: who says what to whom.

    Ray's threads (of the agent)          the agent's thread "workers"             elsewhere
    ────────────────────────────          ────────────────────────────             ─────────
    take: orders of the driver ─ inbox ─▶ run: waits for its workers and its inbox
                                            orders and reports ◀─ pool of processes ─▶ workers
                                            requests ────────────────────────────▶ replicas (Ray),
    a policy's reply ──────────── inbox ──▶ actions, to the workers                or our own `PolicyHost`
    reports: waits ◀───────────── outbox ── what the driver must hear

Only the thread "workers" touches the pool: launchers die with the thread that started them.
"""

from __future__ import annotations

import itertools
import time
import traceback
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from yardarm.cluster.mailbox import Mailbox
from yardarm.cluster.messages import (
    ActionRequest,
    AgentOrder,
    DelegateEpisode,
    Dismiss,
    ForwardOrder,
    Hire,
    PolicyAnswer,
    WorkerReport,
)
from yardarm.cluster.policy_host import PolicyHost
from yardarm.envs import ProcessPool, Worker, looks_of
from yardarm.envs.messages import Alive, Died, Finished, PolicyFailed, Report, Seen
from yardarm.errors import EnvironmentFault, one_line
from yardarm.policies import Outcome

__all__ = ["Relay"]


@dataclass(slots=True, eq=False)
class _DelegatedEpisode:
    """An episode that the driver leaves to this node."""

    order: DelegateEpisode
    id: str
    started: float = field(default_factory=time.perf_counter)
    policy_s: float = 0.0
    is_known: bool = False
    """Whether its policy's host has heard of it."""


@dataclass(slots=True, eq=False)
class _HiredWorker:
    """A worker, the driver's number for it, and the episode that it plays if that was delegated."""

    number: int
    worker: Any
    episode: _DelegatedEpisode | None = None


@dataclass(frozen=True, slots=True)
class _WaitingRequest:
    """A request to a policy, and the worker and episode that wait for its answer."""

    hired: _HiredWorker
    episode: _DelegatedEpisode
    request: ActionRequest

    @property
    def is_current(self) -> bool:
        """False: its worker died meanwhile, or was dismissed."""
        return self.hired.episode is self.episode


@dataclass(frozen=True, slots=True)
class _HostReply:
    """A policy's host has answered a call, or was lost."""

    waiting: Sequence[_WaitingRequest]
    future: Any


@dataclass(frozen=True, slots=True)
class _StopServing:
    """There is nothing more to do."""


class Relay:
    """Carries out the driver's orders with a pool of this node.

    A delegated episode goes back and forth between its worker and its policy, which a replica hosts or this process
    itself. The driver hears of its end only, so it handles no pixels. Which workers are hired and kept is decided by
    the driver's scheduler.
    """

    def __init__(self, pool: ProcessPool, host: PolicyHost) -> None:
        self._pool = pool
        self._host = host
        self._by_number: dict[int, _HiredWorker] = {}
        self._by_worker: dict[Worker, _HiredWorker] = {}
        self._inbox = Mailbox[AgentOrder | _HostReply | _StopServing]()
        self._outbox: SimpleQueue[WorkerReport | BaseException] = SimpleQueue()
        self._early: dict[int, Sequence[AgentOrder]] = {}
        self._next_batch = 0
        self._waiting: list[_WaitingRequest] = []
        self._stem, self._count = uuid.uuid4().hex, itertools.count()

    def take(self, number: int, orders: Sequence[AgentOrder]) -> None:
        """Take a batch of the driver's orders; batches are carried out by number. Call it from one thread only."""
        self._early[number] = orders
        while self._next_batch in self._early:
            self._inbox.put(self._early.pop(self._next_batch))
            self._next_batch += 1

    def stop(self) -> None:
        """Have `run` return; any thread may call this."""
        self._inbox.put([_StopServing()])

    def reports(self) -> list[WorkerReport]:
        """Wait for reports, and take all there are; one thread at a time may call this."""
        items = [self._outbox.get()]
        while not self._outbox.empty():
            items.append(self._outbox.get())
        for item in items:
            if isinstance(item, BaseException):
                raise item
        return [item for item in items if isinstance(item, WorkerReport)]

    def run(self) -> None:
        """Serve until told to stop; if something breaks here, the driver hears of it and gives this node up."""
        try:
            while self._serve():
                pass
        except BaseException:
            self._outbox.put(EnvironmentFault(traceback.format_exc()))

    def _serve(self) -> bool:
        for worker, report in self._pool.wait(also=[self._inbox.descriptor]):
            if hired := self._by_worker.get(worker):
                self._hear(hired, report)
        for item in self._inbox.take_all():
            if isinstance(item, _StopServing):
                return False
            self._obey(item)
        self._send_requests()
        return True

    def _obey(self, item: AgentOrder | _HostReply) -> None:
        match item:
            case Hire(number, task, layout):
                hired = _HiredWorker(number, self._pool.hire(task, layout))
                self._by_number[number] = self._by_worker[hired.worker] = hired
            case ForwardOrder(number, order):
                self._by_number[number].worker.order(order)
            case DelegateEpisode(number, begin):
                hired = self._by_number[number]
                hired.episode = _DelegatedEpisode(item, f"{self._stem}-{next(self._count)}")
                hired.worker.order(begin)
            case Dismiss(number):
                hired = self._by_number.pop(number)
                del self._by_worker[hired.worker]
                self._end_episode(hired, None)
                self._pool.dismiss(hired.worker)
            case _HostReply():
                self._play(item)

    def _hear(self, hired: _HiredWorker, report: Report) -> None:
        episode = hired.episode
        match report:
            case Alive():
                return
            case Seen() if episode is not None:
                self._waiting.append(_WaitingRequest(hired, episode, _request(hired, episode, report)))
                return
            case Seen():
                # Views: they are copied when they are sent, and the worker waits until the driver has answered them.
                shown = [look.values for look in looks_of(hired.worker, report)]
                self._outbox.put(WorkerReport(hired.number, report, shown))
                return
            case Finished(rollout) if episode is not None:
                rollout.timing.policy_s += episode.policy_s
                seconds = time.perf_counter() - episode.started
                self._end_episode(hired, Outcome(rollout.success, len(rollout.rewards), seconds))
            case _:
                self._end_episode(hired, None)
        self._outbox.put(WorkerReport(hired.number, report))

    def _send_requests(self) -> None:
        """One call to each host, with all that waits for it."""
        waiting, self._waiting = [one for one in self._waiting if one.is_current], []
        for replica in {id(handle): handle for handle in map(_replica, waiting)}.values():
            together = [one for one in waiting if _replica(one) is replica]
            requests = [one.request for one in together]
            # For a replica the looks are copied, once, into Ray's memory; our own policies read them where they are.
            reply = self._host.infer(requests) if replica is None else replica.infer.remote(requests).future()
            reply.add_done_callback(self._hand_in(together))

    def _hand_in(self, waiting: Sequence[_WaitingRequest]) -> Callable[[Any], None]:
        return lambda future: self._inbox.put([_HostReply(waiting, future)])

    def _play(self, reply: _HostReply) -> None:
        try:
            answers: Sequence[PolicyAnswer] = reply.future.result()
        except Exception as error:  # Ray's own: the replica died, or cannot be reached
            reason = f"the policy's replica was lost: {one_line(error)[:200]}"
            answers = [PolicyAnswer(lost=reason)] * len(reply.waiting)
        for one, answer in zip(reply.waiting, answers, strict=True):
            if not one.is_current:
                continue
            one.episode.policy_s += answer.seconds
            if answer.play is not None:
                one.hired.worker.order(answer.play)
                continue
            self._end_episode(one.hired, None)
            self._outbox.put(_failure(one.hired.number, answer))

    def _end_episode(self, hired: _HiredWorker, outcome: Outcome | None) -> None:
        episode, hired.episode = hired.episode, None
        if episode is None or not episode.is_known:
            return
        replica = episode.order.replica
        if replica is None:
            self._host.finish(episode.id, outcome)
        else:
            replica.finish.remote(episode.id, outcome)


def _failure(worker: int, answer: PolicyAnswer) -> WorkerReport:
    if answer.fault:
        return WorkerReport(worker, PolicyFailed(answer.fault, answer.trace))
    died = Died(answer.lost or answer.cannot_make, blameless=True)
    return WorkerReport(worker, died, replica_lost=bool(answer.lost), cannot_make=answer.cannot_make)


def _request(hired: _HiredWorker, episode: _DelegatedEpisode, report: Seen) -> ActionRequest:
    looks, order = looks_of(hired.worker, report), episode.order
    if episode.is_known:
        return ActionRequest(episode.id, order.policy, looks)
    episode.is_known = True
    return ActionRequest(episode.id, order.policy, looks, order.begin.episode, order.hosted)


def _replica(waiting: _WaitingRequest) -> Any:
    return waiting.episode.order.replica
