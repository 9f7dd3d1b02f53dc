"""ACT as a policy: which actions of a chunk are played, and how overlapping chunks are averaged."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from yardarm.policies.learned.policy import LearnedPolicy
from yardarm.policies.learned.state import EpisodeState
from yardarm.policies.protocol import ActionChunk
from yardarm.tasks import EpisodeSpec

__all__ = ["ActPolicy", "ActState", "Ensemble"]


class ActPolicy(LearnedPolicy):
    """Plays the beginning of each predicted chunk, or averages overlapping ones."""

    def start(self, episode: EpisodeSpec) -> ActState:
        """Only temporal ensembling has something to remember."""
        coefficient = self.config.temporal_ensemble_coeff
        return ActState(self.conditioning(episode.task), None if coefficient is None else Ensemble(coefficient))

    def answer(self, state: ActState, chunk: np.ndarray) -> ActionChunk:
        """The chunk's beginning; with ensembling, one action that all chunks so far agree on."""
        if state.ensemble is None:
            return super().answer(state, chunk)
        return ActionChunk(state.ensemble.blend(chunk)[None])


@dataclass(slots=True)
class ActState(EpisodeState):
    """What belongs to one episode."""

    ensemble: Ensemble | None


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
