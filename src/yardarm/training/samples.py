"""From a batch of a dataset to what a network reads: the right features, on its device, normalised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from yardarm.policies.learning import ACTION, ACTION_PADDING, TASK, Batch, LearnedPolicy, Tensors, tensors_of

__all__ = ["Preparation"]


class Preparation:
    """Brings batches into the form that a policy learns from."""

    def __init__(self, policy: LearnedPolicy, names: Mapping[str, str]) -> None:
        """`names` are what the dataset calls the policy's inputs."""
        observed = 2 if policy.config.observation_offsets is None else 3
        self._axes = {**{name: observed for name in names.values() if name not in policy.cameras}, ACTION: 3}
        """Of vectors: batch, steps where there are several, and the vector's own."""
        self._wanted = (*names.values(), ACTION, ACTION_PADDING)
        self._preprocessor = policy.preprocessor
        self._device = policy.placement.device

    def __call__(self, batch: Mapping[str, Any]) -> Tensors:
        """Take what is wanted, and let the policy's own pipeline do the rest."""
        taken: Batch = {name: self._moved(name, batch[name]) for name in self._wanted}
        return tensors_of(self._preprocessor({**taken, TASK: list(batch[TASK])}))

    def _moved(self, name: str, value: Tensor) -> Tensor:
        """To the device; images, which travel as bytes, and vectors of any type become float32 there."""
        value = value.to(self._device, non_blocking=True)
        if name in self._axes:
            # A dataset's vectors of a single number have no axis of their own, as in LeRobot.
            return value.float() if value.ndim == self._axes[name] else value.float()[..., None]
        return value.float() / 255 if value.dtype == torch.uint8 else value
