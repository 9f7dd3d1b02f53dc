"""Layers of a language model, and of the expert beside it: small, and with the names that checkpoints have.

They are our own, because an expert attends in ways that no library's layers do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from yardarm.policies.networks.recomputing import recomputed
from yardarm.policies.vla.attention import Rotation, attend, positions, visible
from yardarm.policies.vla.prefix import Prefix

__all__ = ["KeysAndValues", "LanguageLayer", "LanguageLayers", "LayerSizes", "LayerStyle", "Memory", "RmsNorm"]


@dataclass(frozen=True, slots=True)
class LayerSizes:
    """The sizes of a layer."""

    width: int
    hidden: int
    """Of the MLP."""
    heads: int
    key_heads: int
    head_size: int
    norm_eps: float
    key_input: int | None = None
    """What keys and values are made of, if not of the layer's own tokens: the width of other keys."""
    init_std: float = 0.02
    """Of new weights."""


@dataclass(frozen=True, slots=True)
class KeysAndValues:
    """What a layer leaves of a prefix: (batch, token, head, size)."""

    keys: Tensor
    values: Tensor

    def followed_by(self, more: KeysAndValues) -> KeysAndValues:
        """In a row."""
        return KeysAndValues(torch.cat((self.keys, more.keys), dim=1), torch.cat((self.values, more.values), dim=1))


@dataclass(frozen=True, slots=True)
class Memory:
    """A prefix after the language model: what each layer left, and which of the tokens are valid."""

    layers: Sequence[KeysAndValues]
    valid: Tensor

    @property
    def lengths(self) -> Tensor:
        """How many valid tokens each row has: the place of what comes next."""
        return self.valid.sum(dim=1)


class RmsNorm(nn.Module):
    """Each token divided by its root mean square; computed in float32."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, tokens: Tensor) -> Tensor:
        """Normalise the last axis."""
        wide = tokens.float()
        scaled = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)
        return self.weight * scaled.to(tokens.dtype)


@dataclass(frozen=True, slots=True)
class LayerStyle:
    """How the layers of a family of models differ from others, besides their sizes; by default they are Llama's."""

    activation: Callable[[Tensor], Tensor] = F.silu
    """Of the MLP's gate."""
    norm: Callable[[int, float], nn.Module] = RmsNorm
    """Made of a width, and of what is added before a division."""


LLAMA = LayerStyle()


class HeadProjections(nn.Module):
    """Queries, keys and values of a layer, and what leads back from its heads."""

    def __init__(self, sizes: LayerSizes, keys_only: bool) -> None:
        super().__init__()
        self.sizes = sizes
        key_input = sizes.key_input or sizes.width
        self.k_proj = nn.Linear(key_input, sizes.key_heads * sizes.head_size, bias=False)
        self.v_proj = nn.Linear(key_input, sizes.key_heads * sizes.head_size, bias=False)
        if not keys_only:
            self.q_proj = nn.Linear(sizes.width, sizes.heads * sizes.head_size, bias=False)
            self.o_proj = nn.Linear(sizes.heads * sizes.head_size, sizes.width, bias=False)

    def queries(self, tokens: Tensor, turned: Rotation) -> Tensor:
        """Turned by their places."""
        return turned(self._heads(self.q_proj(tokens)))

    def keys_and_values(self, tokens: Tensor, turned: Rotation | None) -> KeysAndValues:
        """Keys are turned by their places, if they have any."""
        keys, values = self._heads(self.k_proj(tokens)), self._heads(self.v_proj(tokens))
        return KeysAndValues(turned(keys) if turned else keys, values)

    def _heads(self, projected: Tensor) -> Tensor:
        return projected.unflatten(-1, (-1, self.sizes.head_size))


class GatedMlp(nn.Module):
    """Two projections, of which one gates the other."""

    def __init__(self, sizes: LayerSizes, activation: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.activation = activation
        self.gate_proj = nn.Linear(sizes.width, sizes.hidden, bias=False)
        self.up_proj = nn.Linear(sizes.width, sizes.hidden, bias=False)
        self.down_proj = nn.Linear(sizes.hidden, sizes.width, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Treat each token by itself."""
        return self.down_proj(self.activation(self.gate_proj(tokens)) * self.up_proj(tokens))


class LanguageLayer(nn.Module):
    """A layer of a language model or of an expert. Its callers say what its tokens see.

    With `keys_only` it is the last of a language model whose answer nobody reads.
    """

    def __init__(self, sizes: LayerSizes, keys_only: bool = False, style: LayerStyle = LLAMA) -> None:
        super().__init__()
        self.self_attn = HeadProjections(sizes, keys_only)
        self.input_layernorm = style.norm(sizes.width, sizes.norm_eps)
        if not keys_only:
            self.mlp = GatedMlp(sizes, style.activation)
            self.post_attention_layernorm = style.norm(sizes.width, sizes.norm_eps)
        for module in (*self.self_attn.modules(), *(() if keys_only else self.mlp.modules())):
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=sizes.init_std)

    def join(
        self, tokens: Tensor, turned: Rotation, seen: Tensor, before: KeysAndValues | None = None
    ) -> tuple[Tensor, KeysAndValues]:
        """Tokens that see what was left before them, and each other; and the keys and values that they leave."""
        found, own = self.attended(self.input_layernorm(tokens), turned, seen, before)
        return self._finished(tokens, found), own

    def attended(
        self, normed: Tensor, turned: Rotation, seen: Tensor, before: KeysAndValues | None
    ) -> tuple[Tensor, KeysAndValues]:
        """What normalised tokens find in what was left before them, and in each other; and what they leave."""
        own = self.self_attn.keys_and_values(normed, turned)
        both = own if before is None else before.followed_by(own)
        return attend(self.self_attn.queries(normed, turned), both.keys, both.values, seen), own

    def cross(self, tokens: Tensor, turned: Rotation, seen: Tensor, read: KeysAndValues) -> Tensor:
        """Tokens that see others only."""
        queries = self.self_attn.queries(self.input_layernorm(tokens), turned)
        return self._finished(tokens, attend(queries, read.keys, read.values, seen))

    def _finished(self, tokens: Tensor, found: Tensor) -> Tensor:
        """Add what attention has found, and what the MLP makes of it."""
        tokens = tokens + self.self_attn.o_proj(found)
        return tokens + self.mlp(self.post_attention_layernorm(tokens))


class LanguageLayers(nn.Module):
    """A language model as far as it is needed: its embeddings, and the layers up to the last keys and values."""

    def __init__(self, sizes: LayerSizes, layers: int, vocabulary: int, style: LayerStyle = LLAMA) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(vocabulary, sizes.width)
        nn.init.normal_(self.embed_tokens.weight, std=sizes.init_std)
        self.head_size = sizes.head_size
        last = layers - 1
        self.layers = nn.ModuleList(LanguageLayer(sizes, place == last, style) for place in range(layers))
        self.checkpointing = False
        """Whether layers are computed again for their gradients, which saves memory."""

    def forward(self, prefix: Prefix) -> Memory:
        """Read a prefix once; whatever comes after it reads the memory."""
        turned = Rotation.at(positions(prefix.valid), self.head_size)
        seen = visible(prefix.blocks, prefix.blocks, prefix.valid)
        tokens, left = prefix.tokens, []
        layer: Any
        for layer in self.layers[:-1]:
            tokens, own = recomputed(self.checkpointing, layer.join, tokens, turned, seen)
            left.append(own)
        last: Any = self.layers[-1]
        left.append(last.self_attn.keys_and_values(last.input_layernorm(tokens), turned))
        return Memory(left, prefix.valid)
