"""How each of LeRobot's policy types can serve several episodes, checked with releases 0.4.4 and 0.6.1.

A type is batched only if its `predict_action_chunk` neither reads nor writes state that outlives the call; this was
checked for each entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

__all__ = ["Kind", "Mode", "kind_of"]


class Mode(Enum):
    """How one policy object serves several episodes."""

    BATCHED = "batched"
    """`predict_action_chunk`, for all waiting episodes together."""
    SWAPPED = "swapped"
    """`select_action`, for one episode after another, each with its own queues restored."""
    ALONE = "alone"
    """`select_action`, with one episode at a time: what it remembers is not fully known."""


@dataclass(frozen=True)
class Kind:
    """How to serve a policy type."""

    mode: Mode
    resizes: bool = False
    """Whether it resizes images of any size."""
    noise: bool = False
    """Whether `predict_action_chunk` accepts the initial noise, so that each episode can have its own."""
    why: str = ""


KINDS = {
    "act": Kind(Mode.BATCHED),
    "eo1": Kind(Mode.BATCHED, resizes=True),
    "evo1": Kind(Mode.BATCHED, resizes=True),
    "fastwam": Kind(Mode.BATCHED, resizes=True, why="it seeds its noise again for every call"),
    "groot": Kind(Mode.BATCHED, resizes=True),
    "molmoact2": Kind(Mode.BATCHED, resizes=True),
    "pi0": Kind(Mode.BATCHED, resizes=True, noise=True),
    "pi0_fast": Kind(Mode.BATCHED, resizes=True),
    "pi05": Kind(Mode.BATCHED, resizes=True, noise=True),
    "smolvla": Kind(Mode.BATCHED, resizes=True, noise=True),
    "vla_jepa": Kind(Mode.BATCHED, resizes=True),
    "wall_x": Kind(Mode.BATCHED, resizes=True),
    "xvla": Kind(Mode.BATCHED, resizes=True),
    "diffusion": Kind(Mode.SWAPPED, why="it reads the last observations from `_queues`"),
    "gaussian_actor": Kind(Mode.SWAPPED, why="it has no chunks"),
    "multi_task_dit": Kind(Mode.SWAPPED, why="it reads the last observations from `_queues`"),
    "sac": Kind(Mode.SWAPPED, why="it has no chunks"),
    "tdmpc": Kind(Mode.SWAPPED, why="it plans on from `_prev_mean`"),
    "vqbet": Kind(Mode.SWAPPED, why="it reads the last observations from `_queues`"),
    "lingbot_va": Kind(Mode.ALONE, resizes=True, why="its networks keep the video so far"),
}
# They rate observations, and have no actions.
NOT_POLICIES = ("reward_classifier", "sarm")
UNKNOWN = Kind(Mode.ALONE, why="the type is not known here")


def kind_of(config: Any) -> Kind:
    """How to serve a checkpoint, by its type and options."""
    kind = KINDS.get(config.type, UNKNOWN)
    if getattr(config, "temporal_ensemble_coeff", None) is not None:
        return Kind(Mode.SWAPPED, why="its ensemble blends the last chunks")
    if getattr(config, "per_episode_seed", False):
        return Kind(Mode.ALONE, resizes=kind.resizes, why="it counts its episodes")
    if config.type == "xvla" and not getattr(config, "resize_imgs_with_padding", None):
        return Kind(Mode.BATCHED)
    if config.type == "wall_x" and getattr(config, "prediction_mode", "") == "fast":
        return Kind(Mode.SWAPPED, resizes=True, why="its fast mode takes one row")
    return kind
