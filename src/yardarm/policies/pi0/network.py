"""The network of π0."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from yardarm.policies.learned.config import STATE
from yardarm.policies.paligemma.expert import GemmaExpert
from yardarm.policies.paligemma.network import PaliGemmaNetwork
from yardarm.policies.pi0.config import Pi0Config
from yardarm.policies.vla.flow import embed_times, padded
from yardarm.policies.vla.layers import Memory

__all__ = ["Pi0Network"]


class Pi0Network(PaliGemmaNetwork):
    """The state is the expert's first token; time is joined to each action before the expert."""

    def __init__(self, config: Pi0Config) -> None:
        super().__init__(config, GemmaExpert(config.sizes.expert, config.sizes.depth))
        width = config.sizes.expert.width
        self.state_proj = nn.Linear(config.max_state_dim, width)
        self.action_time_mlp_in = nn.Linear(2 * width, width)
        self.action_time_mlp_out = nn.Linear(width, width)

    def remember(self, inputs: Mapping[str, Tensor]) -> Memory:
        """Images, text and the state. The state does not see the actions, so the expert reads it once for a chunk."""
        state = self.state_proj(self.state(inputs))[:, None].to(self.paligemma.dtype)
        return self.expert.remember(state, super().remember(inputs))

    def state(self, inputs: Mapping[str, Tensor]) -> Tensor:
        """The robot's state as the network reads it."""
        return padded(inputs[STATE], self.config.max_state_dim)

    def velocity(self, memory: Memory, noisy: Tensor, times: Tensor) -> Tensor:
        """Where noisy actions go at these times (batch); in float32."""
        actions = self.action_in_proj(noisy)
        embedded = embed_times(times, actions.shape[-1], self.config.min_period, self.config.max_period).to(actions)
        both = torch.cat((actions, embedded[:, None].expand_as(actions)), dim=-1)
        tokens = self.action_time_mlp_out(F.silu(self.action_time_mlp_in(both)))
        return self.action_out_proj(self.expert(tokens.to(self.paligemma.dtype), memory).float())
