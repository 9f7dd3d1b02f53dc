"""The transformer of ACT: positions are added to queries and keys in every layer, never to values."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from yardarm.policies.act.config import ActConfig
from yardarm.policies.networks.recomputing import recomputed

__all__ = ["Decoder", "Encoder", "image_positions", "sinusoidal_positions"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}


class _FeedForward(nn.Module):
    """What both kinds of layers end with, and the way they place their norms."""

    def __init__(self, config: ActConfig, norms: int) -> None:
        super().__init__()
        self.linear1 = nn.Linear(config.dim_model, config.dim_feedforward)
        self.linear2 = nn.Linear(config.dim_feedforward, config.dim_model)
        for number in range(1, norms + 1):
            setattr(self, f"norm{number}", nn.LayerNorm(config.dim_model))
        self.dropout = nn.Dropout(config.dropout)
        self.activation = ACTIVATIONS[config.feedforward_activation]
        self.pre_norm = config.pre_norm

    def attention(self, config: ActConfig) -> nn.MultiheadAttention:
        return nn.MultiheadAttention(config.dim_model, config.n_heads, dropout=config.dropout, batch_first=True)

    def feed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def before(self, number: int, x: Tensor) -> Tensor:
        """What a sublayer reads."""
        return getattr(self, f"norm{number}")(x) if self.pre_norm else x

    def after(self, number: int, x: Tensor, change: Tensor) -> Tensor:
        """What a sublayer leaves behind."""
        x = x + self.dropout(change)
        return x if self.pre_norm else getattr(self, f"norm{number}")(x)


class EncoderLayer(_FeedForward):
    """Self-attention, then a feed-forward layer."""

    def __init__(self, config: ActConfig) -> None:
        super().__init__(config, norms=2)
        self.self_attn = self.attention(config)

    def forward(self, x: Tensor, positions: Tensor, is_padding: Tensor | None) -> Tensor:
        """Let every token look at every other that is no padding."""
        tokens = self.before(1, x)
        place = tokens + positions
        change = self.self_attn(place, place, tokens, key_padding_mask=is_padding, need_weights=False)[0]
        x = self.after(1, x, change)
        return self.after(2, x, self.feed_forward(self.before(2, x)))


class Encoder(nn.Module):
    """A stack of encoder layers over (batch, token, channel)."""

    checkpointing = False

    def __init__(self, config: ActConfig, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(layers))
        self.norm = nn.LayerNorm(config.dim_model) if config.pre_norm else nn.Identity()

    def forward(self, x: Tensor, positions: Tensor, is_padding: Tensor | None = None) -> Tensor:
        """Encode the tokens."""
        for layer in self.layers:
            x = recomputed(self.checkpointing, layer, x, positions, is_padding)
        return self.norm(x)


class DecoderLayer(_FeedForward):
    """Self-attention among the actions, attention to what was encoded, then a feed-forward layer."""

    def __init__(self, config: ActConfig) -> None:
        super().__init__(config, norms=3)
        self.self_attn = self.attention(config)
        self.multihead_attn = self.attention(config)

    def forward(self, x: Tensor, positions: Tensor, memory: Tensor, memory_keys: Tensor) -> Tensor:
        """Refine the actions' tokens."""
        tokens = self.before(1, x)
        place = tokens + positions
        x = self.after(1, x, self.self_attn(place, place, tokens, need_weights=False)[0])
        query = self.before(2, x) + positions
        x = self.after(2, x, self.multihead_attn(query, memory_keys, memory, need_weights=False)[0])
        return self.after(3, x, self.feed_forward(self.before(3, x)))


class Decoder(nn.Module):
    """A stack of decoder layers; one token for each action of a chunk."""

    checkpointing = False

    def __init__(self, config: ActConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.n_decoder_layers))
        self.norm = nn.LayerNorm(config.dim_model)

    def forward(self, positions: Tensor, memory: Tensor, memory_positions: Tensor) -> Tensor:
        """Start from zeros, so that tokens differ by their positions only."""
        x = positions.new_zeros(memory.shape[0], *positions.shape)
        memory_keys = memory + memory_positions
        for layer in self.layers:
            x = recomputed(self.checkpointing, layer, x, positions, memory, memory_keys)
        return self.norm(x)


def sinusoidal_positions(count: int, size: int) -> Tensor:
    """Sines and cosines of ever longer wavelengths for a row of tokens (Vaswani et al., 2017)."""
    angles = torch.arange(count, dtype=torch.float64)[:, None] / _wavelengths(size, torch.float64)
    return _interleaved(angles).float()


def image_positions(features: Tensor, size: int) -> Tensor:
    """Positions for each cell of a feature map (batch, channel, height, width), as (1, size, height, width).

    Rows and columns are counted from 1 and scaled to a full turn, as in DETR, whatever the map's size.
    """
    height, width = features.shape[-2:]
    rows = torch.arange(1.0, height + 1, device=features.device) / (height + 1e-6) * 2 * math.pi
    columns = torch.arange(1.0, width + 1, device=features.device) / (width + 1e-6) * 2 * math.pi
    wavelengths = _wavelengths(size // 2, torch.float32).to(features.device)
    vertical = _interleaved(rows[:, None] / wavelengths)[:, None].expand(height, width, -1)
    horizontal = _interleaved(columns[:, None] / wavelengths)[None].expand(height, width, -1)
    return torch.cat((vertical, horizontal), dim=-1).permute(2, 0, 1)[None].to(features.dtype)


def _wavelengths(size: int, dtype: torch.dtype) -> Tensor:
    exponents = 2 * torch.div(torch.arange(size, dtype=dtype), 2, rounding_mode="floor") / size
    return 10000**exponents


def _interleaved(angles: Tensor) -> Tensor:
    """Sines at even places, cosines at odd ones."""
    return torch.stack((angles[..., 0::2].sin(), angles[..., 1::2].cos()), dim=-1).flatten(-2)
