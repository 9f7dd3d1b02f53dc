"""The optimiser and the schedule of its learning rate, made from what was chosen."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

from yardarm.policies import OptimizerOptions, SchedulerOptions

__all__ = ["make_optimizer", "make_scheduler", "parameter_groups"]


def parameter_groups(network: nn.Module, rates: Mapping[str, float]) -> list[dict[str, Any]]:
    """What is trained; parts whose names start with a key of `rates` have their own learning rate."""
    groups: dict[str, dict[str, Any]] = {"": {"params": []}}
    groups |= {prefix: {"params": [], "lr": rate} for prefix, rate in rates.items()}
    for name, parameter in network.named_parameters():
        if parameter.requires_grad:
            own = next((prefix for prefix in rates if name.startswith(prefix)), "")
            groups[own]["params"].append(parameter)
    return list(groups.values())


def make_optimizer(groups: Sequence[dict[str, Any]], options: OptimizerOptions) -> torch.optim.Optimizer:
    """The optimiser of this type."""
    if options.type == "sgd":
        return torch.optim.SGD(groups, lr=options.lr, momentum=options.momentum, weight_decay=options.weight_decay)
    kind = torch.optim.AdamW if options.type == "adamw" else torch.optim.Adam
    first, second = options.betas
    # One pass over each tensor instead of a dozen; other devices may not have it.
    fused = {value.device.type for group in groups for value in group["params"]} <= {"cpu", "cuda"}
    return kind(
        groups,
        lr=options.lr,
        betas=(first, second),
        eps=options.eps,
        weight_decay=options.weight_decay,
        fused=fused or None,
    )


def make_scheduler(optimizer: torch.optim.Optimizer, options: SchedulerOptions, steps: int) -> LambdaLR:
    """What multiplies the learning rates of all groups, step by step."""
    if options.type == "cosine_decay_with_warmup":
        return LambdaLR(optimizer, _decay_with_warmup(options, optimizer.defaults["lr"], steps))
    return LambdaLR(optimizer, _named_schedule(options, steps))


def _named_schedule(options: SchedulerOptions, steps: int) -> Callable[[int], float]:
    """A warm-up from zero, then the schedule of this name over the remaining steps."""
    warmup = options.num_warmup_steps

    def factor(step: int) -> float:
        if step < warmup:
            return step / warmup
        if options.name == "constant":
            return 1.0
        progress = min(1.0, (step - warmup) / max(1, steps - warmup))
        return 1 - progress if options.name == "linear" else (1 + math.cos(math.pi * progress)) / 2

    return factor


def _decay_with_warmup(options: SchedulerOptions, lr: float, steps: int) -> Callable[[int], float]:
    """LeRobot's: a warm-up from nearly zero, then a cosine that has run since the first step and ends at `decay_lr`.

    A training that is shorter than the decay has a shorter warm-up, in the same proportion.
    """
    warmup, decay = options.num_warmup_steps, options.num_decay_steps or steps
    if steps < decay:
        warmup, decay = int(warmup * (steps / decay)), steps
    last = (options.decay_lr or 0.0) / (options.peak_lr or lr)

    def factor(step: int) -> float:
        if step < warmup:
            first = 1 / (warmup + 1)
            return first + (1 - first) * step / warmup
        return last + (1 - last) * (1 + math.cos(math.pi * min(1.0, step / decay))) / 2

    return factor
