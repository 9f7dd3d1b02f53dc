"""What a policy is told before it acts, as one row of tokens: images, text, state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

__all__ = ["Prefix", "PrefixPart"]


@dataclass(frozen=True, slots=True)
class PrefixPart:
    """Tokens (batch, token, width), and which of them are valid (batch, token).

    A block sees itself and earlier blocks. A part joins the block before it, starts one, or each of its tokens does.
    """

    tokens: Tensor
    valid: Tensor
    block: Literal["joins", "starts", "each"] = "joins"

    def starts(self) -> Tensor:
        """1 where a block starts (token)."""
        count = self.tokens.shape[1]
        starts = torch.zeros(count, dtype=torch.long, device=self.tokens.device)
        starts[: {"joins": 0, "starts": 1, "each": count}[self.block]] = 1
        return starts


@dataclass(frozen=True, slots=True)
class Prefix:
    """Parts in a row."""

    tokens: Tensor
    valid: Tensor
    blocks: Tensor
    """The number of each token's block (token)."""

    @classmethod
    def of(cls, parts: Sequence[PrefixPart], length: int = 0) -> Prefix:
        """Join parts; up to a length, what is missing is filled up with tokens that nobody sees."""
        tokens = torch.cat([part.tokens for part in parts], dim=1)
        valid = torch.cat([part.valid for part in parts], dim=1)
        starts = torch.cat([part.starts() for part in parts])
        if (missing := length - tokens.shape[1]) > 0:
            tokens = torch.nn.functional.pad(tokens, (0, 0, 0, missing))
            valid = torch.nn.functional.pad(valid, (0, missing))
            starts = torch.nn.functional.pad(starts, (0, missing))
        return cls(tokens, valid, starts.cumsum(0))
