"""Gradient checkpointing: a part of a network is computed twice in training, and its intermediate values are not kept.

A module offers it by an attribute ``gradient_checkpointing``, false at first, and by calling its layers through
`recomputed`. Whoever trains the network switches it on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

__all__ = ["recompute", "recomputed"]


def recomputed(wanted: bool, part: Callable[..., Any], *inputs: Any) -> Any:
    """Call a part of a network; if wanted, only its inputs are kept until gradients flow back through it."""
    if not wanted or not torch.is_grad_enabled():
        return part(*inputs)
    return checkpoint(part, *inputs, use_reentrant=False)


def recompute(network: nn.Module) -> bool:
    """Have all parts that can do so save memory; false if none can."""
    able: list[Any] = [part for part in network.modules() if hasattr(part, "gradient_checkpointing")]
    for part in able:
        part.gradient_checkpointing = True
    return bool(able)
