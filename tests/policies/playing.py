"""Plays a policy on recorded observations, as the engine would: it is shown what it asked for, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from yardarm.policies import Look, Policy, Request
from yardarm.tasks import BENCHMARKS, EpisodeSpec


def episode(index: int) -> EpisodeSpec:
    """Some episode of Meta-World."""
    return EpisodeSpec(BENCHMARKS.load("metaworld")(task="reach-v3").tasks()[0], index, 1000 + index)


@dataclass
class Rollout:
    """One episode that is being played."""

    observations: Mapping[str, np.ndarray]
    state: Any
    spec: EpisodeSpec
    actions: list[np.ndarray] = field(default_factory=list)
    looked: list[int] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)

    def look(self, step: int) -> None:
        """See what was recorded at a step, in memory that is spoilt later."""
        self.looked.append(step)
        self.looks.append(Look(step, {name: value[step].copy() for name, value in self.observations.items()}))

    def request(self) -> Request:
        """What the policy is asked."""
        return Request(self.spec, self.state, self.looks)

    def play(self, chunk: Any, wants: Sequence[str]) -> None:
        """Play a chunk, and look when it says so."""
        for look in self.looks:
            for value in look.values.values():
                value.fill(0)  # the engine's memory is used again, too
        self.looks = []
        began = len(self.actions)
        self.actions += list(chunk.actions)
        steps = len(next(iter(self.observations.values())))
        for offset in sorted({offset for name in wants for offset in chunk.looks.get(name, [len(chunk.actions)])}):
            if began + offset < steps:
                self.look(began + offset)


def rollouts_of(policy: Policy, observations: Mapping[str, np.ndarray]) -> list[Rollout]:
    """An episode for each row of observations (step, row, …)."""
    rows = next(iter(observations.values())).shape[1]
    made = []
    for row in range(rows):
        seen = {name: observations[name][:, row] for name in policy.wants.inputs}
        rollout = Rollout(seen, policy.start(episode(row)), episode(row))
        rollout.look(0)
        made.append(rollout)
    return made


def play_together(policy: Policy, rollouts: Sequence[Rollout], steps: int) -> np.ndarray:
    """Play all at once, and return the actions (step, row, action)."""
    while any(len(rollout.actions) < steps for rollout in rollouts):
        for rollout, chunk in zip(rollouts, policy.infer([r.request() for r in rollouts]), strict=True):
            rollout.play(chunk, policy.wants.inputs)
    return np.stack([np.stack(rollout.actions[:steps]) for rollout in rollouts], axis=1)
