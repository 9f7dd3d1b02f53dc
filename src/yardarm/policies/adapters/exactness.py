"""What keeps an adapter's policy the same while it is trained, when it is stored, and after it was merged."""

from __future__ import annotations

from functools import partial
from typing import Any

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

__all__ = ["drop_what_is_not_called", "keep_attention_exact", "keep_running_statistics"]

# What PEFT calls the copies that are trained and saved as a whole, statistics and all.
FULLY_TRAINED = "modules_to_save"


def keep_running_statistics(network: nn.Module) -> None:
    """Have batch norms use the base policy's statistics in training, too: an adapter's file has no place for others."""
    for name, module in network.named_modules():
        if isinstance(module, _BatchNorm) and FULLY_TRAINED not in name.split("."):
            module.register_forward_pre_hook(_stay_in_evaluation)


def _stay_in_evaluation(module: nn.Module, inputs: Any) -> None:
    module.eval()


def keep_attention_exact(network: nn.Module) -> None:
    """Give attention its weights back after each use.

    PEFT adds an adapter to them and subtracts it again, which leaves other last bits behind; and what it leaves behind
    after an evaluation can be trained no more.
    """
    for module in network.modules():
        if (attention := _adapted_attention(module)) is not None:
            out: Any = attention.out_proj.base_layer  # it has an adapter of its own
            kept = [(attention, "in_proj_weight", attention.in_proj_weight), (out, "weight", out.weight)]
            module.register_forward_hook(partial(_give_back, kept), always_call=True)


def drop_what_is_not_called(network: nn.Module) -> None:
    """Remove adapters on the last layer of attention, which is used without being called: merged, they would count."""
    adapted = [_adapted_attention(module) for module in network.modules()]
    for module in network.modules():
        if isinstance(module, nn.MultiheadAttention) and not any(module is one for one in adapted):
            module.out_proj = getattr(module.out_proj, "base_layer", module.out_proj)


def _adapted_attention(module: nn.Module) -> nn.MultiheadAttention | None:
    inner = getattr(module, "base_layer", None)
    return inner if isinstance(inner, nn.MultiheadAttention) else None


def _give_back(kept: list[tuple[nn.Module, str, nn.Parameter]], module: nn.Module, inputs: Any, answer: Any) -> None:
    for owner, name, parameter in kept:
        setattr(owner, name, parameter)
