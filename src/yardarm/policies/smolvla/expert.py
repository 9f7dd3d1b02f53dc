"""The expert: layers of its own width beside a language model, which turn noisy actions into a velocity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from yardarm.policies.networks.recomputing import recomputed
from yardarm.policies.smolvla.config import SmolVlaConfig
from yardarm.policies.vla.attention import Rotation
from yardarm.policies.vla.layers import KeysAndValues, LanguageLayer, LayerSizes, Memory, RmsNorm

__all__ = ["Expert", "ExpertMemory", "expert_sizes"]


def expert_sizes(config: SmolVlaConfig) -> LayerSizes:
    """Narrower than the language model, with the same heads."""
    text = config.vlm.text
    width = int(text.width * config.expert_width_multiplier)
    hidden = 4 * int(2 * width / 3)
    return replace(text, width=width, hidden=256 * -(-hidden // 256))


@dataclass(frozen=True, slots=True)
class ExpertMemory:
    """What the expert reads of a memory, layer by layer. It is made once for a chunk: no step changes it."""

    layers: Sequence[KeysAndValues]
    seen: Tensor
    """Which tokens of the memory are valid (batch, 1, token)."""
    after: Tensor
    """The place after the memory (batch)."""


class Expert(nn.Module):
    """Each action sees the memory and the actions before it."""

    def __init__(self, config: SmolVlaConfig) -> None:
        super().__init__()
        self.config = config
        sizes = expert_sizes(config)
        of_memory = replace(sizes, key_input=sizes.key_heads * sizes.head_size)
        self.layers = nn.ModuleList(
            LanguageLayer(of_memory if config.crosses(place) else sizes) for place in range(config.expert_layers)
        )
        self.norm = RmsNorm(sizes.width, sizes.norm_eps)
        self.head_size = sizes.head_size
        self.checkpointing = False

    def read(self, memory: Memory) -> ExpertMemory:
        """Project what does not depend on the actions, once for a chunk."""
        left = memory.layers[:: self.config.expert_every]
        own = [
            self._projected(layer, read) if self.config.crosses(place) else read
            for place, (layer, read) in enumerate(zip(self.layers, left, strict=True))
        ]
        return ExpertMemory(own, memory.valid[:, None, :], memory.lengths)

    def _projected(self, layer: Any, read: KeysAndValues) -> KeysAndValues:
        """The language model's keys become the expert's keys, and its values values; their places are in them."""
        heads = layer.self_attn
        keys, values = heads.k_proj(read.keys.flatten(2)), heads.v_proj(read.values.flatten(2))
        return KeysAndValues(keys.unflatten(-1, (-1, self.head_size)), values.unflatten(-1, (-1, self.head_size)))

    def forward(self, tokens: Tensor, memory: ExpertMemory) -> Tensor:
        """Tokens of noisy actions (batch, action, width), after all layers."""
        count = tokens.shape[1]
        order = torch.arange(count, device=tokens.device)[None]
        remembered = memory.seen.expand(-1, count, -1)
        earlier = torch.ones(count, count, dtype=torch.bool, device=tokens.device).tril().expand(len(tokens), -1, -1)
        crossing = Rotation.at(order, self.head_size), remembered
        joining = (
            Rotation.at(memory.after[:, None] + order, self.head_size),
            torch.cat((remembered, earlier), dim=2),
        )
        layer: Any
        for place, (layer, read) in enumerate(zip(self.layers, memory.layers, strict=True)):
            if self.config.crosses(place):
                tokens = recomputed(self.checkpointing, layer.cross, tokens, *crossing, read)
            else:
                tokens, _ = recomputed(self.checkpointing, layer.join, tokens, *joining, read)
        return self.norm(tokens)
