"""Who sees whom: tokens in blocks, and attention among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional as F

__all__ = ["Rotation", "attend", "positions", "visible"]


def visible(query_blocks: Tensor, key_blocks: Tensor, valid: Tensor) -> Tensor:
    """Whether a token sees another (batch, query, key): valid ones of its own block and of earlier blocks.

    Blocks are numbers (token); `valid` is (batch, key). What padding sees does not matter, as nothing reads it; it sees
    something, because a softmax over nothing is no number.
    """
    return (key_blocks[None, :] <= query_blocks[:, None])[None] & valid[:, None, :]


def positions(valid: Tensor) -> Tensor:
    """The place of each token (batch, token): how many valid ones are before it, so that padding takes no place."""
    return (valid.cumsum(dim=1) - 1).clamp_min(0)


@dataclass(frozen=True, slots=True)
class Rotation:
    """Turns heads by the places of their tokens; made once for all layers, in float32."""

    cosine: Tensor
    sine: Tensor

    @classmethod
    def at(cls, places: Tensor, head_size: int, base: float = 10_000.0) -> Self:
        """For tokens at these places (batch, token)."""
        half = head_size // 2
        frequencies = base ** (-torch.arange(half, dtype=torch.float32, device=places.device) / half)
        angles = places[..., None, None].float() * frequencies
        return cls(angles.cos(), angles.sin())

    def __call__(self, heads: Tensor) -> Tensor:
        """Turn heads (batch, token, head, size): the first half of each goes with the second."""
        first, second = heads.float().chunk(2, dim=-1)
        turned = (first * self.cosine - second * self.sine, second * self.cosine + first * self.sine)
        return torch.cat(turned, dim=-1).to(heads.dtype)


def attend(queries: Tensor, keys: Tensor, values: Tensor, seen: Tensor, scale: float | None = None) -> Tensor:
    """What queries (batch, token, head, size) find in keys and values, which may have fewer heads: (batch, token, …).

    Queries that share a head of keys stand side by side, so that keys and values need not be repeated.
    """
    batch, tokens, heads, size = queries.shape
    shared = keys.shape[2]
    group = heads // shared
    side_by_side = queries.unflatten(2, (shared, group)).permute(0, 2, 3, 1, 4).flatten(2, 3)
    mask = seen[:, None, None].expand(-1, 1, group, -1, -1).flatten(2, 3)
    found = F.scaled_dot_product_attention(
        side_by_side, keys.transpose(1, 2), values.transpose(1, 2), attn_mask=mask, scale=scale
    )
    return found.unflatten(2, (group, tokens)).permute(0, 3, 1, 2, 4).reshape(batch, tokens, heads * size)
