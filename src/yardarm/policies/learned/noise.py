"""Policies that start from noise: each episode draws its own, so that it does not depend on others."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from yardarm.policies.batching import Observations, Row
from yardarm.policies.learned.policy import LearnedPolicy
from yardarm.policies.learned.state import EpisodeState
from yardarm.policies.protocol import Request
from yardarm.tasks import EpisodeSpec

__all__ = ["NOISE", "NoiseState", "PolicyFromNoise", "episode_generator"]

# The noise of a row travels with its observations.
NOISE = "noise"


@dataclass(slots=True)
class NoiseState(EpisodeState):
    """What belongs to one episode: its own noise."""

    generator: np.random.Generator


def episode_generator(episode: EpisodeSpec) -> np.random.Generator:
    """The generator of an episode, the same wherever and beside whatever it is played."""
    name = hashlib.sha256(repr(episode.key()).encode()).digest()
    return np.random.default_rng(list(name))


class PolicyFromNoise(LearnedPolicy):
    """Each inference starts from fresh noise of `noise_shape`."""

    @property
    def noise_shape(self) -> tuple[int, ...]:
        """Of one row."""
        raise NotImplementedError

    def start(self, episode: EpisodeSpec) -> NoiseState:
        """An episode has noise that is its own."""
        return NoiseState(self.conditioning(episode.task), episode_generator(episode))

    def row(self, request: Request) -> Row:
        """Fresh noise, too."""
        noise = request.state.generator.standard_normal(self.noise_shape, dtype=np.float32)
        return {**super().row(request), NOISE: noise}

    def row_shapes(self) -> dict[str, tuple[int, ...]]:
        """Noise, too."""
        return {**super().row_shapes(), NOISE: self.noise_shape}

    def normalized_chunks(self, observations: Observations) -> Tensor:
        """The network's own answer; noise is drawn unless it is among the observations."""
        if NOISE not in observations:
            rows = len(next(iter(observations.values()), ()))
            noise = np.random.default_rng().standard_normal((rows, *self.noise_shape), dtype=np.float32)
            observations = {**observations, NOISE: noise}
        return super().normalized_chunks(observations)
