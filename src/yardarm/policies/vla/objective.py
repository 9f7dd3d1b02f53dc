"""What policies learn by flow matching: the way from noise to demonstrated actions."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor, nn

from yardarm.policies.learned.config import ACTION, ACTION_PADDING
from yardarm.policies.processing import Tensors
from yardarm.policies.vla.flow import padded

__all__ = ["FlowObjective"]


class FlowNetwork(Protocol):
    """What the objective needs of a network."""

    def remember(self, inputs: Tensors) -> Any:
        """All that an answer depends on, but for the noise."""

    def velocity(self, memory: Any, noisy: Tensor, times: Tensor) -> Tensor:
        """Where noisy actions (batch, step, action) go at these times (batch)."""

    def actions(self, actions: Tensor) -> Tensor:
        """Normalised actions as the network's own space has them."""


class FlowObjective(nn.Module):
    """The loss of a batch of normalised values, actions (batch, step, action)."""

    counts_padding: ClassVar[bool] = False
    """Whether steps that only pad an episode's end count, too: some policies were trained so."""

    def __init__(self, config: Any, network: Any) -> None:
        super().__init__()
        self.config = config
        self.network = network

    def forward(self, batch: Tensors) -> Tensors:
        """The loss with fresh noise, at a random time for each row."""
        actions = batch[ACTION]
        noise = torch.randn(*actions.shape[:2], self.config.max_action_dim, device=actions.device)
        times = self.config.time_sampling.draw(len(actions), actions.device)
        return {"loss": self.at(batch, noise, times)}

    def at(self, batch: Tensors, noise: Tensor, times: Tensor) -> Tensor:
        """The loss with this noise at these times."""
        errors = self.errors(batch, noise, times)
        if self.counts_padding:
            return errors.mean()
        real = ~batch[ACTION_PADDING][..., None] if ACTION_PADDING in batch else torch.ones_like(errors[..., :1])
        return (errors * real).sum() / (real.sum() * errors.shape[-1]).clamp_min(1)

    def errors(self, batch: Tensors, noise: Tensor, times: Tensor) -> Tensor:
        """Squared errors of the velocity (batch, step, action)."""
        network: FlowNetwork = self.network
        actions = padded(network.actions(batch[ACTION]), self.config.max_action_dim)
        share = times[:, None, None]
        noisy = share * noise + (1 - share) * actions
        predicted = network.velocity(network.remember(batch), noisy, times)
        return (noise - actions - predicted).square()[..., : self.config.action_size]
