"""Keeps policies, and the states of episodes that they play: in a replica, or in a node's agent."""

from __future__ import annotations

import platform
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from yardarm.cluster.messages import Ask, Charge, Question, Thought
from yardarm.envs.messages import Answered, Failed, Play, Refused
from yardarm.errors import ConnectionFault, PolicyFault, UsageError, one_line, trace_of
from yardarm.policies import BatchedPolicy, LoadedPolicy, Outcome, Releasable, Request, make_policy, playable
from yardarm.tasks import EpisodeSpec

__all__ = ["Custodian"]

# Of more policies than these, one that nobody plays lets go of its weights until somebody does;
# `--eval.policies_at_once` is another number.
MOST_HELD = 8


@dataclass(frozen=True, slots=True)
class _Call:
    """One agent's questions, and a place for their answers."""

    asks: Sequence[Ask]
    answer: Future[list[Thought]] = field(default_factory=Future)


@dataclass(frozen=True, slots=True)
class _Errand:
    """Something else to do where the policies are."""

    function: Callable[..., Any]
    arguments: Sequence[Any]
    answer: Future[Any] = field(default_factory=Future)


@dataclass(frozen=True, slots=True)
class _Played:
    """An episode that is under way."""

    loaded: LoadedPolicy
    episode: EpisodeSpec
    state: Any


class Custodian:
    """Policies that compute in one thread; whoever asks meanwhile is in the next batch. Any thread may ask."""

    def __init__(self, most_held: int = 0) -> None:
        self._most_held = most_held or MOST_HELD
        self._policies: dict[str, LoadedPolicy] = {}
        self._episodes: dict[str, _Played] = {}
        self._work: SimpleQueue[_Call | _Errand] = SimpleQueue()
        threading.Thread(target=self._serve, name="policy", daemon=True).start()

    def question(self, question: Question) -> Future[Answered | Refused | Failed]:
        """Call a function with a policy."""
        return self._put(_Errand(self._question, (question,)))

    def infer(self, asks: Sequence[Ask]) -> Future[list[Thought]]:
        """Answer questions of episodes, together with those of others."""
        return self._put(_Call(asks))

    def finish(self, id: str, outcome: Outcome | None) -> Future[None]:
        """An episode is over."""
        return self._put(_Errand(self._finish, (id, outcome)))

    def _put(self, work: _Call | _Errand) -> Future[Any]:
        self._work.put(work)
        return work.answer

    def _serve(self) -> None:
        while True:
            waiting = [self._work.get()]
            while not self._work.empty():
                waiting.append(self._work.get())
            for errand in [work for work in waiting if isinstance(work, _Errand)]:
                try:
                    errand.answer.set_result(errand.function(*errand.arguments))
                except BaseException:  # even `sys.exit`, which would end whoever waits for it
                    errand.answer.set_exception(PolicyFault(traceback.format_exc()))
            self._answer([work for work in waiting if isinstance(work, _Call)])

    def _question(self, question: Question) -> Answered | Refused | Failed:
        try:
            return Answered(question.function(self._policy(question.charge), **question.arguments))
        except UsageError as error:
            return Refused(str(error))
        except BaseException as error:
            return Failed(trace_of(error))

    def _policy(self, charge: Charge) -> LoadedPolicy:
        if charge.key not in self._policies:
            loaded = LoadedPolicy.prepared(make_policy(charge.spec), charge.spec, charge.tasks)
            _check_identity(loaded, charge)
            if isinstance(loaded.policy, BatchedPolicy) and charge.batching is not None:
                loaded.policy.batching = charge.batching
            self._policies[charge.key] = loaded
        return self._policies[charge.key]

    def _answer(self, calls: Sequence[_Call]) -> None:
        asks = [ask for call in calls for ask in call.asks]
        thoughts: dict[str, Thought] = {}
        for policy in dict.fromkeys(ask.policy for ask in asks):
            thoughts |= self._think([ask for ask in asks if ask.policy == policy])
        for call in calls:
            call.answer.set_result([thoughts[ask.id] for ask in call.asks])

    def _think(self, asks: Sequence[Ask]) -> dict[str, Thought]:
        """One batch of one policy."""
        refused = {ask.id: thought for ask in asks if (thought := self._start(ask)) is not None}
        asked = [ask for ask in asks if ask.id not in refused]
        if not asked:
            return refused
        played = [self._episodes[ask.id] for ask in asked]
        started = time.perf_counter()
        try:
            requests = [Request(own.episode, own.state, ask.looks) for own, ask in zip(played, asked, strict=True)]
            chunks = list(played[0].loaded.policy.infer(requests))
            if len(chunks) != len(asked):
                raise PolicyFault(f"the policy answered {len(asked)} requests with {len(chunks)} chunks")
            seconds = (time.perf_counter() - started) / len(asked)
            plays = [
                Play.of(playable(chunk, own.loaded.policy.wants, own.episode.task))
                for chunk, own in zip(chunks, played, strict=True)
            ]
        except ConnectionFault as fault:
            return refused | {ask.id: Thought(lost=str(fault)) for ask in asked}
        except PolicyFault as fault:  # it says itself what is wrong
            return refused | {ask.id: Thought(fault=str(fault), trace=fault.trace) for ask in asked}
        except BaseException as error:  # even `sys.exit`: the run would wait forever
            return refused | {ask.id: _raised(error) for ask in asked}
        return refused | {ask.id: Thought(play, seconds) for ask, play in zip(asked, plays, strict=True)}

    def _start(self, ask: Ask) -> Thought | None:
        """Begin an episode with its first question; returns why it cannot go on, if it cannot."""
        if ask.id in self._episodes:
            return None
        if ask.episode is None:
            return Thought(lost="the policy's replica was started anew in the middle of the episode")
        import ray

        try:
            loaded = self._policy(ray.get(ask.charge))
        except UsageError as error:
            return Thought(unmade=str(error))
        except BaseException:
            return Thought(unmade=traceback.format_exc())
        try:
            self._episodes[ask.id] = _Played(loaded, ask.episode, loaded.policy.start(ask.episode))
        except BaseException as error:
            return _raised(error)
        return None

    def _finish(self, id: str, outcome: Outcome | None) -> None:
        played = self._episodes.pop(id, None)
        if played is None:
            return
        if played.loaded.hooks.finish is not None:
            played.loaded.hooks.finish(played.state, outcome)
        idle = not any(own.loaded is played.loaded for own in self._episodes.values())
        if idle and len(self._policies) > self._most_held and isinstance(played.loaded.policy, Releasable):
            played.loaded.policy.release()


def _raised(error: BaseException) -> Thought:
    return Thought(fault=f"the policy raised {one_line(error)}", trace=trace_of(error))


def _check_identity(loaded: LoadedPolicy, charge: Charge) -> None:
    """The same path may mean another checkpoint here."""
    if loaded.id != charge.id:
        path = charge.spec.options.get("path", charge.spec.path)
        raise UsageError(
            f"{path} is another policy on node {platform.node()} ({loaded.id}) than for the driver ({charge.id}); "
            "all nodes must have the same files there: a shared folder, or a Hub id with its revision"
        )
