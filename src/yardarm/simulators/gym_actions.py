"""Gymnasium's actions as flat vectors of numbers, which is what policies answer with."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from yardarm.errors import UsageError

__all__ = ["describe_action", "neutral_action", "playable_action"]


def describe_action(space: gymnasium.Space) -> dict[str, Any]:
    """Size, bounds and kind of an action; equal bounds are given once."""
    low, high = (bound.tolist() for bound in _bounds(space))
    return {
        "size": len(low),
        "low": low[0] if len(set(low)) == 1 else tuple(low),
        "high": high[0] if len(set(high)) == 1 else tuple(high),
        "discrete": not isinstance(space, gymnasium.spaces.Box),
    }


def playable_action(space: gymnasium.Space, numbers: np.ndarray) -> Any:
    """What the environment takes. Where it takes choices, that is the nearest one."""
    if isinstance(space, gymnasium.spaces.Box):
        return numbers.reshape(space.shape).astype(space.dtype)
    choices = np.clip(np.rint(numbers), *_bounds(space)).astype(space.dtype)
    return choices[0] if isinstance(space, gymnasium.spaces.Discrete) else choices.reshape(space.shape)


def neutral_action(space: gymnasium.Space) -> Any:
    """The middle of what is possible."""
    low, high = (np.nan_to_num(bound, posinf=0, neginf=0) for bound in _bounds(space))
    return playable_action(space, (low + high) / 2)


def _bounds(space: gymnasium.Space) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and the highest value of each number."""
    match space:
        case gymnasium.spaces.Box():
            low, high = space.low, space.high
        case gymnasium.spaces.Discrete():
            low, high = space.start, space.start + space.n - 1
        case gymnasium.spaces.MultiDiscrete():
            low, high = space.start, space.start + space.nvec - 1
        case gymnasium.spaces.MultiBinary():
            low, high = np.zeros(space.shape), np.ones(space.shape)
        case _:
            raise UsageError(
                f"the action space is {space}, which is not supported; it must be a Box, Discrete, MultiDiscrete or "
                "MultiBinary"
            )
    return np.asarray(low, np.float64).ravel(), np.asarray(high, np.float64).ravel()
