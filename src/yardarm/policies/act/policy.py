"""ACT as a policy: which actions of a chunk are played, and how overlapping chunks are averaged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from torch import Tensor

from yardarm.policies.act.config import ActConfig
from yardarm.policies.act.network import ActNetwork
from yardarm.policies.act.objective import ActObjective
from yardarm.policies.learned.policy import LearnedPolicy
from yardarm.policies.processing import Batch
from yardarm.policies.protocol import ActionChunk
from yardarm.tasks import EpisodeSpec

__all__ = ["ActPolicy", "Ensemble"]


class ActPolicy(LearnedPolicy):
    """Looks, plays the first `n_action_steps` of the predicted chunk, and looks again."""

    config_class: ClassVar[type[ActConfig]] = ActConfig
    network_class: ClassVar[type[ActNetwork]] = ActNetwork
    objective_class: ClassVar[type[ActObjective]] = ActObjective
    prefix: ClassVar[str] = "model."
    # Feed-forward layers, which hold most of a transformer's weights, and the way into it and out of it.
    adapted: ClassVar[tuple[str, ...]] = (
        *("linear1", "linear2", "action_head"),
        *("encoder_robot_state_input_proj", "encoder_env_state_input_proj", "encoder_img_feat_input_proj"),
    )

    def start(self, episode: EpisodeSpec) -> Ensemble | None:
        """Only temporal ensembling has something to remember."""
        super().start(episode)
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


def _nothing_yet() -> np.ndarray:
    return np.empty((0, 1), dtype=np.float32)


@dataclass(slots=True)
class Ensemble:
    """The weighted mean of all predictions for each coming step.

    The prediction that was made first for a step has the weight 1, the k-th after it exp(-coefficient · k).
    """

    coefficient: float
    means: np.ndarray = field(default_factory=_nothing_yet)
    counts: np.ndarray = field(default_factory=_nothing_yet)
    """How many predictions there are for each coming step,"""
    masses: np.ndarray = field(default_factory=_nothing_yet)
    """and the sum of their weights."""

    def blend(self, chunk: np.ndarray) -> np.ndarray:
        """Add a chunk that begins now, and return the action for now."""
        known = len(self.means)
        weights = np.exp(-self.coefficient * self.counts)
        masses = self.masses + weights
        blended = self.means + weights / masses * (chunk[:known] - self.means)
        new = np.ones((len(chunk) - known, 1), dtype=np.float32)
        means = np.concatenate([blended, chunk[known:]])
        self.means, self.counts, self.masses = (
            means[1:],
            np.concatenate([self.counts + 1, new])[1:],
            np.concatenate([masses, new])[1:],
        )
        return means[0]
