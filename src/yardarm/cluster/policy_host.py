"""Hosts policies and the states of the episodes that they play: in a replica, or in a node's agent.

    threads that ask                         the policies' thread
    ────────────────                         ────────────────────
    infer([…]) ──────┐
    infer([…]) ──────┼─── queue ───────────▶ takes all that waits,
    finish(…) ───────┘                       makes the other calls one by one,
      wait for their future,                 then one batch for each policy
      or are called back ◀── futures ──────── sets their results

Requests that arrive while a policy computes are in its next batch. The thread ends with the process.
"""

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

from yardarm.cluster.messages import ActionRequest, HostedPolicy, PolicyAnswer, PolicyCall
from yardarm.envs.messages import Answered, Failed, Play, Refused
from yardarm.errors import ConnectionFault, PolicyFault, UsageError, one_line, trace_of
from yardarm.policies import BatchedPolicy, LoadedPolicy, Outcome, Releasable, Request, make_policy, playable
from yardarm.tasks import EpisodeSpec

__all__ = ["PolicyHost"]

# With more policies than this, one that plays no episode releases its weights until its next episode;
# `--eval.policies_at_once` sets another number.
MOST_HELD = 8


@dataclass(frozen=True, slots=True)
class _InferCall:
    """The requests of one caller, and the future for their answers."""

    requests: Sequence[ActionRequest]
    answer: Future[list[PolicyAnswer]] = field(default_factory=Future)


@dataclass(frozen=True, slots=True)
class _OtherCall:
    """Anything else to do in the policies' thread."""

    function: Callable[..., Any]
    arguments: Sequence[Any]
    answer: Future[Any] = field(default_factory=Future)


@dataclass(frozen=True, slots=True)
class _RunningEpisode:
    """An episode, its policy, and the policy's state for it."""

    loaded: LoadedPolicy
    episode: EpisodeSpec
    state: Any


class PolicyHost:
    """Policies that compute in one thread; any thread may ask."""

    def __init__(self, most_held: int = 0) -> None:
        self._most_held = most_held or MOST_HELD
        self._policies: dict[str, LoadedPolicy] = {}
        self._episodes: dict[str, _RunningEpisode] = {}
        self._calls: SimpleQueue[_InferCall | _OtherCall] = SimpleQueue()
        threading.Thread(target=self._serve, name="policy", daemon=True).start()

    def call(self, call: PolicyCall) -> Future[Answered | Refused | Failed]:
        """Call a function with a policy."""
        return self._put(_OtherCall(self._call, (call,)))

    def infer(self, requests: Sequence[ActionRequest]) -> Future[list[PolicyAnswer]]:
        """Answer the requests of episodes, in one batch with those of other callers."""
        return self._put(_InferCall(requests))

    def finish(self, id: str, outcome: Outcome | None) -> Future[None]:
        """An episode is over."""
        return self._put(_OtherCall(self._finish, (id, outcome)))

    def _put(self, call: _InferCall | _OtherCall) -> Future[Any]:
        self._calls.put(call)
        return call.answer

    def _serve(self) -> None:
        while True:
            waiting = [self._calls.get()]
            while not self._calls.empty():
                waiting.append(self._calls.get())
            for other in [call for call in waiting if isinstance(call, _OtherCall)]:
                try:
                    other.answer.set_result(other.function(*other.arguments))
                except BaseException:  # even `sys.exit`, which would end the caller that waits for it
                    other.answer.set_exception(PolicyFault(traceback.format_exc()))
            self._answer([call for call in waiting if isinstance(call, _InferCall)])

    def _call(self, call: PolicyCall) -> Answered | Refused | Failed:
        try:
            return Answered(call.function(self._policy(call.policy), **call.arguments))
        except UsageError as error:
            return Refused(str(error))
        except BaseException as error:
            return Failed(trace_of(error))

    def _policy(self, hosted: HostedPolicy) -> LoadedPolicy:
        if hosted.key not in self._policies:
            loaded = LoadedPolicy.prepared(make_policy(hosted.spec), hosted.spec, hosted.tasks)
            _check_identity(loaded, hosted)
            if isinstance(loaded.policy, BatchedPolicy) and hosted.batching is not None:
                loaded.policy.batching = hosted.batching
            self._policies[hosted.key] = loaded
        return self._policies[hosted.key]

    def _answer(self, calls: Sequence[_InferCall]) -> None:
        requests = [request for call in calls for request in call.requests]
        answers: dict[str, PolicyAnswer] = {}
        for policy in dict.fromkeys(request.policy for request in requests):
            answers |= self._infer([request for request in requests if request.policy == policy])
        for call in calls:
            call.answer.set_result([answers[request.id] for request in call.requests])

    def _infer(self, requests: Sequence[ActionRequest]) -> dict[str, PolicyAnswer]:
        """One batch of one policy."""
        refused = {request.id: answer for request in requests if (answer := self._start(request)) is not None}
        asked = [request for request in requests if request.id not in refused]
        if not asked:
            return refused
        running = [self._episodes[request.id] for request in asked]
        started = time.perf_counter()
        try:
            batch = [Request(own.episode, own.state, one.looks) for own, one in zip(running, asked, strict=True)]
            chunks = list(running[0].loaded.policy.infer(batch))
            if len(chunks) != len(asked):
                raise PolicyFault(f"the policy answered {len(asked)} requests with {len(chunks)} chunks")
            seconds = (time.perf_counter() - started) / len(asked)
            plays = [
                Play.of(playable(chunk, own.loaded.policy.wants, own.episode.task))
                for chunk, own in zip(chunks, running, strict=True)
            ]
        except ConnectionFault as fault:
            return refused | {request.id: PolicyAnswer(lost=str(fault)) for request in asked}
        except PolicyFault as fault:  # it says itself what is wrong
            return refused | {request.id: PolicyAnswer(fault=str(fault), trace=fault.trace) for request in asked}
        except BaseException as error:  # even `sys.exit`: the run would wait forever
            return refused | {request.id: _raised(error) for request in asked}
        return refused | {request.id: PolicyAnswer(play, seconds) for request, play in zip(asked, plays, strict=True)}

    def _start(self, request: ActionRequest) -> PolicyAnswer | None:
        """Begin an episode with its first request; returns why it cannot be played, if it cannot."""
        if request.id in self._episodes:
            return None
        if request.episode is None:
            return PolicyAnswer(lost="the policy's replica was restarted in the middle of the episode")
        import ray

        try:
            loaded = self._policy(ray.get(request.hosted))
        except UsageError as error:
            return PolicyAnswer(cannot_make=str(error))
        except BaseException:
            return PolicyAnswer(cannot_make=traceback.format_exc())
        try:
            state = loaded.policy.start(request.episode)
            self._episodes[request.id] = _RunningEpisode(loaded, request.episode, state)
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


def _raised(error: BaseException) -> PolicyAnswer:
    return PolicyAnswer(fault=f"the policy raised {one_line(error)}", trace=trace_of(error))


def _check_identity(loaded: LoadedPolicy, hosted: HostedPolicy) -> None:
    """The same path may lead to another checkpoint on this node."""
    if loaded.id != hosted.id:
        path = hosted.spec.options.get("path", hosted.spec.path)
        raise UsageError(
            f"{path} is another policy on node {platform.node()} ({loaded.id}) than on the driver ({hosted.id}); "
            "all nodes must have the same files there: a shared folder, or a Hub id with its revision"
        )
