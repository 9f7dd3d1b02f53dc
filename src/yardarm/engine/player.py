"""A policy at play."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from yardarm.engine.film import Filming
from yardarm.engine.inference import Answer, Inference
from yardarm.engine.queue import Job
from yardarm.envs import Worker
from yardarm.envs.messages import Rollout
from yardarm.errors import PolicyFault
from yardarm.policies import LoadedPolicy, Look, Outcome, Releasable, Request
from yardarm.tasks import EpisodeSpec

__all__ = ["Player", "Running"]


@dataclass(slots=True, eq=False)
class Running:
    """An episode on a worker."""

    worker: Worker
    job: Job
    state: Any
    started: float = field(default_factory=time.perf_counter)
    infer_s: float = 0.0
    looks: Sequence[Look] = ()

    @property
    def episode(self) -> EpisodeSpec:
        """What is played."""
        return self.job.episode

    def request(self) -> Request:
        """What the policy is asked."""
        return Request(self.episode, self.state, self.looks)


class Player:
    """A policy, its inference if it computes in this process, and the episodes whose looks wait for it."""

    def __init__(self, policy: LoadedPolicy, filming: Filming, inference: Inference[Running] | None = None) -> None:
        self.policy = policy.policy
        self.traits = policy.traits
        self.hooks = policy.hooks
        self.spec = policy.spec
        self.filming = filming
        self.inference = inference
        self.ready: list[Running] = []
        self.withdrawn = False
        """Whether it has failed, and the run continues without it."""
        self._leaving = False
        self._failed_at_the_end: PolicyFault | None = None

    def start(self, episode: EpisodeSpec) -> Any:
        """Have the policy make the state of an episode."""
        return self.inference.call("start", episode) if self.inference else None

    def think(self) -> None:
        """Hand the policy as many waiting looks as there is room for."""
        while self.inference is not None and (count := self.inference.room(len(self.ready))):
            asked, self.ready = self.ready[:count], self.ready[count:]
            self.inference.submit(asked, [running.request() for running in asked])

    def answers(self) -> list[Answer[Running]]:
        """What the policy has answered since the last call."""
        try:
            if self._failed_at_the_end is not None:
                raise self._failed_at_the_end
            return self.inference.collect() if self.inference else []
        finally:
            if self._leaving:
                self.leave()

    def say_goodbye(self, running: Running, rollout: Rollout | None) -> None:
        """Tell a policy that wants to know that an episode is over."""
        if self.inference is None or self.inference.given_up or self.hooks.finish is None:
            return
        seconds = time.perf_counter() - running.started
        outcome = Outcome(rollout.success, len(rollout.rewards), seconds) if rollout else None
        try:
            self.inference.call("finish", running.state, outcome)
        except PolicyFault as fault:  # the episode is over, and is kept: `answers` raises the fault
            self._failed_at_the_end = fault

    def leave(self) -> None:
        """Release the policy's weights once no answer is pending: it has nothing left to play."""
        self._leaving = bool(self.inference and self.inference.busy)
        hangs = bool(self.inference and self.inference.given_up)
        if isinstance(self.policy, Releasable) and not self._leaving and not hangs:
            self.policy.release()

    def close(self) -> None:
        """End the inference's threads."""
        if self.inference is not None:
            self.inference.close()
