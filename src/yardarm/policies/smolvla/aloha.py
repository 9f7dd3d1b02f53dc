"""Between the joints of an Aloha as its simulator counts them, and as SmolVLA's ancestors do; on normalised values."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["actions_from_model", "actions_to_model", "state_to_model"]

TURNED = [1, 2, 8, 9]
GRIPPERS = [6, 13]
# A gripper's ends: as a distance in metres, as the angle of its motor, and as the angle that is sent to it.
DISTANCE = (0.01844, 0.05800)
ANGLE = (0.4, 1.5)
SENT = (-0.6213, 1.4910)
ARM, HORN = 0.036, 0.022


def state_to_model(state: Tensor) -> Tensor:
    """Some joints turn the other way; a gripper's distance becomes its motor's angle."""
    return _changed(state, lambda gripper: _to_unit(_angle(_to_range(gripper, DISTANCE)), ANGLE))


def actions_from_model(actions: Tensor) -> Tensor:
    """The way back, for actions."""
    return _changed(actions, lambda gripper: _to_unit(_to_range(gripper, ANGLE), SENT))


def actions_to_model(actions: Tensor) -> Tensor:
    """What `actions_from_model` undoes, to learn from."""
    return _changed(actions, lambda gripper: _to_unit(_to_range(gripper, SENT), ANGLE))


def _changed(values: Tensor, convert: Callable[[Tensor], Tensor]) -> Tensor:
    changed = values.clone()
    changed[..., TURNED] = -values[..., TURNED]
    changed[..., GRIPPERS] = convert(values[..., GRIPPERS])
    return changed


def _angle(distance: Tensor) -> Tensor:
    """Of a horn that an arm of fixed length holds at a distance."""
    return torch.asin(((HORN**2 + distance**2 - ARM**2) / (2 * HORN * distance)).clamp(-1, 1))


def _to_range(value: Tensor, ends: tuple[float, float]) -> Tensor:
    return value * (ends[1] - ends[0]) + ends[0]


def _to_unit(value: Tensor, ends: tuple[float, float]) -> Tensor:
    return (value - ends[0]) / (ends[1] - ends[0])
