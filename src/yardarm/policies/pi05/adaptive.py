"""An expert whose norms follow the time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from yardarm.policies.networks.recomputing import recomputed
from yardarm.policies.paligemma.expert import following
from yardarm.policies.paligemma.gemma import gelu, narrow_but_norms, normed
from yardarm.policies.vla.attention import Rotation
from yardarm.policies.vla.layers import KeysAndValues, LanguageLayer, LayerSizes, LayerStyle, Memory

__all__ = ["AdaptiveExpert", "Modulation"]


@dataclass(frozen=True, slots=True)
class Modulation:
    """What a time does to normalised tokens, and how much of what they lead to is added; each (time, 1, width)."""

    scale: Tensor
    shift: Tensor
    gate: Tensor

    def at(self, number: int) -> Modulation:
        """One of the times, for all rows."""
        one = slice(number, number + 1)
        return Modulation(self.scale[one], self.shift[one], self.gate[one])


class AdaptiveNorm(nn.Module):
    """Has no weights but those that make its modulation of an embedded time. New ones add nothing at any time."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.dense = nn.Linear(width, 3 * width)
        for values in self.dense.parameters():
            nn.init.zeros_(values)
        self.eps = eps

    def modulation(self, embedded: Tensor) -> Modulation:
        """For embedded times (time, width)."""
        return Modulation(*self.dense(embedded)[:, None].chunk(3, dim=-1))

    def forward(self, tokens: Tensor, by: Modulation) -> Tensor:
        """Normalise the last axis, as the time says."""
        return (normed(tokens, self.eps) * (1 + by.scale) + by.shift).to(tokens.dtype)


ADAPTIVE = LayerStyle(gelu, AdaptiveNorm)


class AdaptiveLayer(LanguageLayer):
    """A layer of the expert; one modulation is for its attention, one for its MLP."""

    def act(
        self,
        tokens: Tensor,
        turned: Rotation,
        seen: Tensor,
        read: KeysAndValues,
        attention: Modulation,
        mlp: Modulation,
    ) -> Tensor:
        """Tokens that see what was left before them, and each other."""
        found, _ = self.attended(self.input_layernorm(tokens, attention), turned, seen, read)
        tokens = _added(tokens, self.self_attn.o_proj(found), attention.gate)
        return _added(tokens, self.mlp(self.post_attention_layernorm(tokens, mlp)), mlp.gate)


def _added(tokens: Tensor, branch: Tensor, gate: Tensor) -> Tensor:
    return tokens + branch * gate.to(branch.dtype)


class AdaptiveExpert(nn.Module):
    """Tokens that see a memory and each other, at a time."""

    def __init__(self, sizes: LayerSizes, depth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(AdaptiveLayer(sizes, style=ADAPTIVE) for _ in range(depth))
        self.norm = AdaptiveNorm(sizes.width, sizes.norm_eps)
        self.head_size = sizes.head_size
        self.checkpointing = False

    def narrow(self, dtype: torch.dtype) -> None:
        """Compute with shorter numbers."""
        narrow_but_norms(self, dtype, AdaptiveNorm)

    def norms(self) -> list[AdaptiveNorm]:
        """In the order in which tokens meet them."""
        layers: Any = self.layers
        return [*(norm for one in layers for norm in (one.input_layernorm, one.post_attention_layernorm)), self.norm]

    def modulations(self, embedded: Tensor) -> list[Modulation]:
        """Of each norm, for embedded times (time, width)."""
        return [norm.modulation(embedded) for norm in self.norms()]

    def forward(self, tokens: Tensor, memory: Memory, by: Sequence[Modulation]) -> Tensor:
        """Tokens of noisy actions (batch, action, width), after all layers."""
        turned, seen = following(memory, tokens.shape[1], self.head_size)
        layer: Any
        for place, (layer, read) in enumerate(zip(self.layers, memory.layers, strict=True)):
            own = by[2 * place : 2 * place + 2]
            tokens = recomputed(self.checkpointing, layer.act, tokens, turned, seen, read, *own)
        return self.norm(tokens, by[-1])
