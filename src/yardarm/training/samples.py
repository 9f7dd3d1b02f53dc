"""From a batch of a dataset to what a network reads: the right features, on its device, normalised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from yardarm.policies.learning import ACTION, ACTION_PADDING, TASK_VECTOR, Batch, LearnedPolicy, TaskVector

__all__ = ["Preparation"]


class Preparation:
    """Brings batches into the form that a policy learns from."""

    def __init__(self, policy: LearnedPolicy, names: Mapping[str, str]) -> None:
        """`names` are what the dataset calls the policy's inputs."""
        self._wanted = (*names.values(), ACTION, ACTION_PADDING)
        self._preprocessor = policy.preprocessor
        self._task_vector = policy.preprocessor.step(TaskVector)
        self._device = policy.placement.device

    def __call__(self, batch: Mapping[str, Any]) -> Batch:
        """Take what is wanted, and let the policy's own pipeline do the rest."""
        taken = {name: self._moved(batch[name]) for name in self._wanted}
        if self._task_vector is not None:
            taken[TASK_VECTOR] = self._task_vector.vectors(batch["task"]).to(self._device)
        return self._preprocessor(taken)

    def _moved(self, value: Tensor) -> Tensor:
        """To the device; images, which travel as bytes, become floats there."""
        value = value.to(self._device, non_blocking=True)
        if value.dtype == torch.uint8:
            return value.float() / 255
        return value.float() if value.dtype == torch.float64 else value
