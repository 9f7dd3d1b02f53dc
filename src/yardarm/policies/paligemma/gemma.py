"""What Gemma's layers have that Llama's do not."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from yardarm.policies.vla.layers import LayerStyle

__all__ = ["GEMMA", "GemmaNorm", "gelu", "narrow_but_norms", "normed"]

gelu = partial(F.gelu, approximate="tanh")


def normed(tokens: Tensor, eps: float) -> Tensor:
    """Each token divided by its root mean square, in float32."""
    wide = tokens.float()
    return wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)


class GemmaNorm(nn.Module):
    """Its weights are kept as their distance from 1, and applied in float32."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width))
        self.eps = eps

    def forward(self, tokens: Tensor) -> Tensor:
        """Normalise the last axis."""
        return (normed(tokens, self.eps) * (1 + self.weight.float())).to(tokens.dtype)


GEMMA = LayerStyle(gelu, GemmaNorm)


def narrow_but_norms(part: nn.Module, dtype: torch.dtype, norm: type[nn.Module] = GemmaNorm) -> None:
    """Compute with shorter numbers; norms keep theirs, as in LeRobot."""
    part.to(dtype)
    for module in part.modules():
        if isinstance(module, norm):
            module.float()
