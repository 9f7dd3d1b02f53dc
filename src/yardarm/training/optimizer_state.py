"""An optimiser's state between memory and LeRobot's two files: tensors in one, settings in the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

__all__ = ["load_optimizer", "optimizer_groups", "optimizer_tensors"]

STATE = "state/"


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """What it remembers of each parameter, as ``state/NUMBER/NAME``."""
    return {
        f"{STATE}{number}/{name}": torch.as_tensor(value).detach().cpu().contiguous()
        for number, own in optimizer.state_dict()["state"].items()
        for name, value in own.items()
        if value is not None
    }


def optimizer_groups(optimizer: torch.optim.Optimizer) -> list[dict[str, Any]]:
    """The settings of its groups, plain enough for JSON."""
    groups = optimizer.state_dict()["param_groups"]
    return [{name: value for name, value in group.items() if name != "initial_lr"} for group in groups]


def load_optimizer(
    optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor], groups: list[dict[str, Any]]
) -> None:
    """Go on with what was saved."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        number, _, name = key.removeprefix(STATE).partition("/")
        state.setdefault(int(number), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": groups})
    for parameter, own in optimizer.state.items():
        for name, value in own.items():
            if isinstance(value, Tensor) and value.shape == parameter.shape:
                # Laid out in memory as it was: kernels round differently for another order.
                own[name] = torch.empty_like(parameter).copy_(value)
