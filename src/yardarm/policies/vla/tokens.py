"""Text as a network reads it: numbers of tokens, and which of them are valid."""

from __future__ import annotations

from yardarm.policies.processing import TOKEN_MASK, TOKENS, Tensors

__all__ = ["TOKENS", "TOKEN_MASK", "without_padding"]


def without_padding(inputs: Tensors) -> Tensors:
    """The same inputs with no more tokens than the longest text has, where padding is at the end."""
    mask = inputs[TOKEN_MASK]
    if not mask[:, 0].all():
        return inputs
    longest = max(1, int(mask.sum(dim=1).max()))
    return {**inputs, TOKENS: inputs[TOKENS][:, :longest], TOKEN_MASK: mask[:, :longest]}
