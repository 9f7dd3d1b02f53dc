"""ACT as a policy: which actions of a chunk are played, and how overlapping chunks are averaged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch import Tensor

from yardarm.policies.act.config import ActConfig
from yardarm.policies.act.network import ActNetwork
from yardarm.policies.learned import LearnedPolicy
from yardarm.policies.processing import Batch
from yardarm.policies.protocol import ActionChunk
from yardarm.tasks import EpisodeSpec

__all__ = ["ActPolicy", "Ensemble"]


class ActPolicy(LearnedPolicy):
    """Looks, plays the first `n_action_steps` of the predicted chunk, and looks again."""

    config_class: ClassVar[type[ActConfig]] = ActConfig
    network_class: ClassVar[type[ActNetwork]] = ActNetwork
    prefix: ClassVar[str] = "model."

    def start(self, episode: EpisodeSpec) -> Ensemble | None:
        """Only temporal ensembling has something to remember."""
        coefficient = self.config.temporal_ensemble_coeff
        return None if coefficient is None else Ensemble(coefficient)

    def forward(self, inputs: Batch) -> Tensor:
        """With the latent at its prior's mean."""
        return self.network(inputs)

    def answer(self, state: Ensemble | None, chunk: np.ndarray) -> ActionChunk:
        """The chunk's beginning; with ensembling, one action that all chunks so far agree on."""
        if state is None:
            return ActionChunk(chunk[: self.config.n_action_steps])
        return ActionChunk(state.blend(chunk)[None])


@dataclass(slots=True)
class Ensemble:
    """The weighted mean of all predictions for each coming step.

    The prediction that was made first for a step has the weight 1, the k-th after it exp(-coefficient · k).
    """

    coefficient: float
    means: np.ndarray | None = None
    counts: np.ndarray | None = None

    def blend(self, chunk: np.ndarray) -> np.ndarray:
        """Add a chunk that begins now, and return the action for now."""
        if self.means is None or self.counts is None:
            means, counts = chunk.copy(), np.ones(len(chunk), dtype=int)
        else:
            means, counts = chunk.copy(), np.ones(len(chunk), dtype=int)
            overlap = len(self.means)
            share = self._share(self.counts)[:, None]
            means[:overlap] = (1 - share) * self.means + share * chunk[:overlap]
            counts[:overlap] = self.counts + 1
        action, self.means, self.counts = means[0], means[1:], counts[1:]
        return action

    def _share(self, counts: np.ndarray) -> np.ndarray:
        """How much a new prediction weighs among `counts` older ones and itself."""
        weights = np.exp(-self.coefficient * np.arange(counts.max() + 1))
        return (weights / weights.cumsum())[counts].astype(np.float32)
