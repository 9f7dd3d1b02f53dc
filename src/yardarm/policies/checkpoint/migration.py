"""Checkpoints from before processor files existed keep their statistics among the weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from yardarm.policies.learned.config import PolicyConfig
from yardarm.policies.processing import Statistics

__all__ = ["SplitWeights", "split_old_statistics"]

# Inputs, the targets of training, and outputs were normalised by modules of their own.
OLD_MODULES = ("normalize_inputs.", "normalize_targets.", "unnormalize_outputs.")


@dataclass(frozen=True, slots=True)
class SplitWeights:
    """The network's own weights, and the statistics that lay among them, if any."""

    weights: dict[str, Tensor]
    statistics: Statistics


def split_old_statistics(weights: Mapping[str, Tensor], config: PolicyConfig) -> SplitWeights:
    """Take out entries like ``normalize_inputs.buffer_observation_state.mean``."""
    features = {**config.input_features, **config.output_features}
    by_buffer = {f"buffer_{name.replace('.', '_')}": name for name in features}
    own: dict[str, Tensor] = {}
    statistics: dict[str, dict[str, Tensor]] = {}
    for key, value in weights.items():
        if not key.startswith(OLD_MODULES):
            own[key] = value
            continue
        buffer, _, statistic = key.partition(".")[2].partition(".")
        if buffer in by_buffer:
            statistics.setdefault(by_buffer[buffer], {})[statistic] = value
    return SplitWeights(own, statistics)
