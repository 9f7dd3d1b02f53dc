"""The expert: a narrow Gemma beside a wide one, whose keys and values it reads at every layer."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from yardarm.policies.networks.recomputing import recomputed
from yardarm.policies.paligemma.gemma import GEMMA, GemmaNorm, narrow_but_norms
from yardarm.policies.vla.attention import Rotation
from yardarm.policies.vla.layers import KeysAndValues, LanguageLayer, LayerSizes, Memory

__all__ = ["GemmaExpert", "following"]


def following(memory: Memory, count: int, head_size: int) -> tuple[Rotation, Tensor]:
    """The places of this many tokens after a memory, and what they see: all of it, and each other."""
    order = torch.arange(count, device=memory.valid.device)
    seen = F.pad(memory.valid, (0, count), value=True)[:, None].expand(-1, count, -1)
    return Rotation.at(memory.lengths[:, None] + order, head_size), seen


class GemmaExpert(nn.Module):
    """Tokens that see a memory and each other."""

    def __init__(self, sizes: LayerSizes, depth: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(LanguageLayer(sizes, style=GEMMA) for _ in range(depth))
        self.norm = GemmaNorm(sizes.width, sizes.norm_eps)
        self.head_size = sizes.head_size
        self.checkpointing = False

    def narrow(self, dtype: torch.dtype) -> None:
        """Compute with shorter numbers."""
        narrow_but_norms(self, dtype)

    def remember(self, tokens: Tensor, memory: Memory) -> Memory:
        """The memory with tokens at its end that do not depend on the actions: they are read once for a chunk."""
        _, own = self._through(tokens, memory)
        longer = [read.followed_by(more) for read, more in zip(memory.layers, own, strict=True)]
        return Memory(longer, F.pad(memory.valid, (0, tokens.shape[1]), value=True))

    def forward(self, tokens: Tensor, memory: Memory) -> Tensor:
        """Tokens of noisy actions (batch, action, width), after all layers."""
        tokens, _ = self._through(tokens, memory)
        return self.norm(tokens)

    def _through(self, tokens: Tensor, memory: Memory) -> tuple[Tensor, list[KeysAndValues]]:
        turned, seen = following(memory, tokens.shape[1], self.head_size)
        left = []
        layer: Any
        for layer, read in zip(self.layers, memory.layers, strict=True):
            tokens, own = recomputed(self.checkpointing, layer.join, tokens, turned, seen, read)
            left.append(own)
        return tokens, left
