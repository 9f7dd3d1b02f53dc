"""Checks a policy's answer, and converts it to what a worker plays."""

from __future__ import annotations

import operator
from dataclasses import dataclass

import numpy as np

from yardarm.errors import PolicyFault
from yardarm.policies.protocol import ActionChunk, ObservationSpec
from yardarm.tasks import TaskSpec

__all__ = ["PlayableChunk", "playable"]

# Of numpy's kinds of numbers: whether, whole, whole without a sign, with a point.
REAL = "biuf"


@dataclass(frozen=True, slots=True)
class PlayableChunk:
    """Float32 actions, and the inputs to read, by the number of actions before."""

    actions: np.ndarray
    looks: dict[int, tuple[str, ...]]


def playable(chunk: ActionChunk, wants: ObservationSpec, task: TaskSpec) -> PlayableChunk:
    """Refuse what cannot be played: wrong shapes, NaN, looks outside the chunk."""
    if not isinstance(chunk, ActionChunk):
        raise PolicyFault(
            f"the policy answered with {type(chunk).__name__} for '{task.name}' instead of an ActionChunk"
        )
    actions = _numbers(chunk, task)
    size = task.env.action.size
    if actions.ndim != 2 or actions.shape[1] != size or not len(actions):
        raise PolicyFault(
            f"the policy answered with actions of shape {actions.shape} for '{task.name}'; "
            f"it must be (how many ≥ 1, {size})"
        )
    if not np.isfinite(actions).all():
        raise PolicyFault(f"the policy answered with NaN or infinite actions for '{task.name}'")
    if not chunk.looks:
        return PlayableChunk(actions, {len(actions): wants.inputs})
    return PlayableChunk(actions, _by_offset(chunk, len(actions), wants))


def _numbers(chunk: ActionChunk, task: TaskSpec) -> np.ndarray:
    """The actions as float32. What numpy would convert with a loss is refused: complex numbers, texts, objects."""
    try:
        given = np.asarray(chunk.actions)
    except Exception as error:  # whatever a strange object raises when numpy asks it for numbers
        raise PolicyFault(f"the policy's actions for '{task.name}' are no array of numbers: {error}") from error
    if given.dtype.kind not in REAL:
        raise PolicyFault(
            f"the policy's actions for '{task.name}' are no array of real numbers: their dtype is {given.dtype}"
        )
    with np.errstate(over="ignore"):  # what is too large becomes infinite, and is refused
        return given.astype(np.float32, copy=False)


def _by_offset(chunk: ActionChunk, length: int, wants: ObservationSpec) -> dict[int, tuple[str, ...]]:
    try:
        offsets = sorted({operator.index(offset) for places in chunk.looks.values() for offset in places})
    except (AttributeError, TypeError) as error:
        raise PolicyFault(f"the policy's looks are no offsets by input, but {chunk.looks!r}") from error
    if unknown := set(chunk.looks) - set(wants.inputs):
        raise PolicyFault(f"the policy looks at {sorted(unknown)}, which its `wants` does not name")
    if not offsets or offsets[0] < 1 or offsets[-1] != length:
        raise PolicyFault(
            f"the policy looks at offsets {offsets} of a chunk of {length}; "
            f"they must lie between 1 and {length}, and something must be read after the last action"
        )
    if len(offsets) > wants.steps:
        raise PolicyFault(f"the policy looks {len(offsets)} times in a chunk, but `wants.steps` is {wants.steps}")
    return {offset: tuple(name for name in wants.inputs if offset in chunk.looks.get(name, ())) for offset in offsets}
