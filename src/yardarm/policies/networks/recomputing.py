"""Gradient checkpointing: a part of a network is computed twice in training, and its intermediate values are not kept.

A network offers it by a method ``checkpoint_gradients()``, after which it calls its layers through `recomputed`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

__all__ = ["recomputed"]


def recomputed(wanted: bool, part: Callable[..., Any], *inputs: Any) -> Any:
    """Call a part of a network; if wanted, only its inputs are kept until gradients flow back through it."""
    if not wanted or not torch.is_grad_enabled():
        return part(*inputs)
    return checkpoint(part, *inputs, use_reentrant=False)
