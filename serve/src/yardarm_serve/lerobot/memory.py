"""Saves and restores what a policy object remembers of an episode."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import torch

__all__ = ["EpisodeMemory", "action_queue", "episode_noise"]

# Where LeRobot's policies store an episode's state.
ATTRIBUTES = ("_queues", "_action_queue", "_prev_mean")
ENSEMBLE = ("ensembled_actions", "ensembled_actions_count")


@dataclass
class EpisodeMemory:
    """The attributes of a policy, and the state of torch's generators, as an episode left them."""

    attributes: dict[str, Any] = field(default_factory=dict)
    ensemble: dict[str, Any] = field(default_factory=dict)
    generators: list[torch.Tensor] = field(default_factory=list)

    @classmethod
    def fresh(cls, policy: Any, seed: int) -> EpisodeMemory:
        """The memory of a new episode."""
        policy.reset()
        torch.manual_seed(seed)
        memory = cls()
        memory.take_out(policy)
        return memory

    def put_in(self, policy: Any) -> None:
        """Make the policy continue this episode."""
        for name, value in self.attributes.items():
            setattr(policy, name, value)
        for name, value in self.ensemble.items():
            setattr(policy.temporal_ensembler, name, value)
        _restore(self.generators)

    def take_out(self, policy: Any) -> None:
        """Save the policy's current state."""
        self.attributes = {name: getattr(policy, name) for name in ATTRIBUTES if hasattr(policy, name)}
        ensembler = getattr(policy, "temporal_ensembler", None)
        self.ensemble = {name: getattr(ensembler, name) for name in ENSEMBLE if hasattr(ensembler, name)}
        self.generators = _generators()


def action_queue(policy: Any) -> deque[Any] | None:
    """The planned actions, if the policy has a queue of them."""
    queue = getattr(policy, "_queues", {}).get("action", getattr(policy, "_action_queue", None))
    return queue if isinstance(queue, deque) else None


def episode_noise(memory: EpisodeMemory, shape: tuple[int, ...], device: str) -> torch.Tensor:
    """Normal noise from the episode's own generators."""
    _restore(memory.generators)
    noise = torch.normal(mean=0.0, std=1.0, size=shape, dtype=torch.float32, device=device)
    memory.generators = _generators()
    return noise


def _generators() -> list[torch.Tensor]:
    if torch.cuda.is_available():
        return [torch.get_rng_state(), *torch.cuda.get_rng_state_all()]
    if torch.backends.mps.is_available():
        return [torch.get_rng_state(), torch.mps.get_rng_state()]
    return [torch.get_rng_state()]


def _restore(states: list[torch.Tensor]) -> None:
    torch.set_rng_state(states[0])
    if torch.cuda.is_available():
        torch.cuda.set_rng_state_all(states[1:])
    elif len(states) > 1:
        torch.mps.set_rng_state(states[1])
