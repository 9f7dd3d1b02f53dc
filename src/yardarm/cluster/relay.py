"""Between a node's workers, the driver, and the replicas that hold policies: who says what to whom."""

from __future__ import annotations

import itertools
import time
import traceback
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from yardarm.cluster.custodian import Custodian
from yardarm.cluster.mailbox import Mailbox
from yardarm.cluster.messages import AgentOrder, Ask, Dismiss, Entrust, Give, Heard, Hire, Thought
from yardarm.envs import ProcessPool, Worker, looks_of
from yardarm.envs.messages import Alive, Died, Finished, PolicyFailed, Report, Seen
from yardarm.errors import EnvironmentFault, one_line
from yardarm.policies import Outcome

__all__ = ["Relay"]


@dataclass(slots=True, eq=False)
class _Episode:
    """An episode that the driver leaves to us."""

    entrusted: Entrust
    id: str
    started: float = field(default_factory=time.perf_counter)
    policy_s: float = 0.0
    is_known: bool = False
    """Whether its policy was told of it."""


@dataclass(slots=True, eq=False)
class _Place:
    """A worker, and the episode that it plays, if that was left to us."""

    number: int
    worker: Any
    episode: _Episode | None = None


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question, and whose it is."""

    place: _Place
    episode: _Episode
    ask: Ask


@dataclass(frozen=True, slots=True)
class _Answered:
    """What became of a call to a replica."""

    asked: Sequence[_Asked]
    future: Any


@dataclass(frozen=True, slots=True)
class _Stop:
    """There is nothing more to do."""


class Relay:
    """Carries out the driver's orders with a pool of this node.

    An episode that is entrusted to us goes back and forth between its worker and its policy, which a replica keeps or
    this process itself, without the driver, which hears of its end only: so the driver sees no pixels.
    """

    def __init__(self, pool: ProcessPool, custodian: Custodian) -> None:
        self._pool = pool
        self._custodian = custodian
        self._places: dict[int, _Place] = {}
        self._of_worker: dict[Worker, _Place] = {}
        self._inbox = Mailbox[AgentOrder | _Answered | _Stop]()
        self._outbox: SimpleQueue[Heard | BaseException] = SimpleQueue()
        self._early: dict[int, Sequence[AgentOrder]] = {}
        self._next_batch = 0
        self._waiting: list[_Asked] = []
        self._stem, self._count = uuid.uuid4().hex, itertools.count()

    def take(self, number: int, orders: Sequence[AgentOrder]) -> None:
        """Orders of the driver, carried out in the order of their numbers; always the same thread calls this."""
        self._early[number] = orders
        while self._next_batch in self._early:
            self._inbox.put(self._early.pop(self._next_batch))
            self._next_batch += 1

    def stop(self) -> None:
        """Have `run` return; any thread may call this."""
        self._inbox.put([_Stop()])

    def heard(self) -> list[Heard]:
        """Wait for reports, and take all there are; a thread of its own may call this."""
        items = [self._outbox.get()]
        while not self._outbox.empty():
            items.append(self._outbox.get())
        for item in items:
            if isinstance(item, BaseException):
                raise item
        return [item for item in items if isinstance(item, Heard)]

    def run(self) -> None:
        """Serve until told to stop; what breaks here is told to the driver, which gives this node up."""
        try:
            while self._serve():
                pass
        except BaseException:
            self._outbox.put(EnvironmentFault(traceback.format_exc()))

    def _serve(self) -> bool:
        for worker, report in self._pool.wait(also=[self._inbox.descriptor]):
            if place := self._of_worker.get(worker):
                self._hear(place, report)
        for item in self._inbox.take_all():
            if isinstance(item, _Stop):
                return False
            self._obey(item)
        self._ask_replicas()
        return True

    def _obey(self, item: AgentOrder | _Answered) -> None:
        match item:
            case Hire(number, task, layout):
                place = _Place(number, self._pool.hire(task, layout))
                self._places[number] = self._of_worker[place.worker] = place
            case Give(number, order):
                self._places[number].worker.order(order)
            case Entrust(number, begin):
                place = self._places[number]
                place.episode = _Episode(item, f"{self._stem}-{next(self._count)}")
                place.worker.order(begin)
            case Dismiss(number):
                place = self._places.pop(number)
                del self._of_worker[place.worker]
                self._end_episode(place, None)
                self._pool.dismiss(place.worker)
            case _Answered():
                self._play(item)

    def _hear(self, place: _Place, report: Report) -> None:
        episode = place.episode
        match report:
            case Alive():
                return
            case Seen() if episode is not None:
                self._waiting.append(_Asked(place, episode, _question(place, episode, report)))
                return
            case Seen():
                # Views: they are copied when they are sent, and the worker waits until the driver has answered them.
                shown = [look.values for look in looks_of(place.worker, report)]
                self._outbox.put(Heard(place.number, report, shown))
                return
            case Finished(rollout) if episode is not None:
                rollout.timing.policy_s += episode.policy_s
                seconds = time.perf_counter() - episode.started
                self._end_episode(place, Outcome(rollout.success, len(rollout.rewards), seconds))
            case _:
                self._end_episode(place, None)
        self._outbox.put(Heard(place.number, report))

    def _ask_replicas(self) -> None:
        """One call to each replica, with all that waits for it."""
        waiting, self._waiting = self._waiting, []
        waiting = [asked for asked in waiting if asked.place.episode is asked.episode]
        for replica in {id(handle): handle for handle in map(_replica, waiting)}.values():
            asked = [one for one in waiting if _replica(one) is replica]
            asks = [one.ask for one in asked]
            # For a replica the looks are copied, once, into Ray's memory; our own policies read them where they are.
            answer = self._custodian.infer(asks) if replica is None else replica.infer.remote(asks).future()
            answer.add_done_callback(self._hand_in(asked))

    def _hand_in(self, asked: Sequence[_Asked]) -> Callable[[Any], None]:
        return lambda future: self._inbox.put([_Answered(asked, future)])

    def _play(self, answered: _Answered) -> None:
        try:
            thoughts: Sequence[Thought] = answered.future.result()
        except Exception as error:  # Ray's own: the replica died, or cannot be reached
            reason = f"the policy's replica was lost: {one_line(error)[:200]}"
            thoughts = [Thought(lost=reason)] * len(answered.asked)
        for asked, thought in zip(answered.asked, thoughts, strict=True):
            if asked.place.episode is not asked.episode:
                continue  # its worker died meanwhile, or was dismissed
            asked.episode.policy_s += thought.seconds
            if thought.play is not None:
                asked.place.worker.order(thought.play)
                continue
            self._end_episode(asked.place, None)
            self._outbox.put(_what_failed(asked.place.number, thought))

    def _end_episode(self, place: _Place, outcome: Outcome | None) -> None:
        episode, place.episode = place.episode, None
        if episode is None or not episode.is_known:
            return
        replica = episode.entrusted.replica
        if replica is None:
            self._custodian.finish(episode.id, outcome)
        else:
            replica.finish.remote(episode.id, outcome)


def _what_failed(worker: int, thought: Thought) -> Heard:
    if thought.fault:
        return Heard(worker, PolicyFailed(thought.fault, thought.trace))
    gone = Died(thought.lost or thought.unmade, blameless=True)
    return Heard(worker, gone, replica_lost=bool(thought.lost), unmade=thought.unmade)


def _question(place: _Place, episode: _Episode, report: Seen) -> Ask:
    seen = looks_of(place.worker, report)
    if episode.is_known:
        return Ask(episode.id, episode.entrusted.policy, seen)
    episode.is_known = True
    return Ask(episode.id, episode.entrusted.policy, seen, episode.entrusted.begin.episode, episode.entrusted.charge)


def _replica(asked: _Asked) -> Any:
    return asked.episode.entrusted.replica
