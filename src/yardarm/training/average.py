"""A moving average of weights, which often does better than the last ones."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

__all__ = ["MovingAverage"]


class MovingAverage:
    """The exponential moving average of a network's trained parameters; buffers are taken as they are.

    The decay grows from 0.1 with the number of updates, so that the initial random weights are soon forgotten.
    """

    def __init__(self, network: nn.Module, decay: float) -> None:
        self._decay = decay
        self.trained = {name: value for name, value in network.named_parameters() if value.requires_grad}
        """The weights that are trained on,"""
        self.weights = {name: value.detach().clone() for name, value in self.trained.items()}
        """and their average."""

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights after a step."""
        decay = min(self._decay, (1 + step) / (10 + step))
        for name, value in self.trained.items():
            self.weights[name].lerp_(value, 1 - decay)

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """Have the network use the average for a while."""
        before = {name: value.detach().clone() for name, value in self.trained.items()}
        self._put(self.weights)
        try:
            yield
        finally:
            self._put(before)

    def load(self, trained: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> None:
        """Continue with trained weights and an average that were saved."""
        self._put(trained)
        for name, value in self.weights.items():
            value.copy_(weights[name])

    @torch.no_grad()
    def _put(self, weights: Mapping[str, Tensor]) -> None:
        for name, value in self.trained.items():
            value.copy_(weights[name])
