"""Looks through what was played for actions that the environment cannot have been meant to get.

A policy with another convention (a gripper the other way round, other units, an axis too many) fails every episode, and
reads as 0% success. What is odd about its actions says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from yardarm.errors import UsageError
from yardarm.results import EpisodeRecord, PlayedEpisode, RunFolder, RunResult, TaskResult
from yardarm.tasks import ActionSpec

__all__ = ["odd_actions"]

# Enough to tell a convention, few enough to read in a moment.
MOST_EPISODES = 200
FEWEST_ACTIONS = 100
CLIPPED_SHARE = 0.5
ALWAYS = 0.99
# Bounds are met by rounding, and arms sag a little while they stand still.
TOLERANCE = 1e-3
STANDS_STILL = 0.01


def odd_actions(result: RunResult, folder: RunFolder) -> tuple[str, ...]:
    """One line for everything that is odd, for each kind of action that the run's environments take."""
    kinds: dict[ActionSpec, list[TaskResult]] = {}
    for task in result.tasks:
        kinds.setdefault(task.task.env.action, []).append(task)
    return tuple(note for action, tasks in kinds.items() for note in _notes(action, tasks, folder))


def _notes(action: ActionSpec, tasks: Sequence[TaskResult], folder: RunFolder) -> Iterator[str]:
    records = [record for task in tasks for record in task.episodes if record.status != "error"]
    played = list(_sample(records, folder))
    if sum(len(episode.actions) for episode in played) < FEWEST_ACTIONS:
        return
    actions = np.concatenate([episode.actions for episode in played]).astype(np.float64)
    low, high = (np.broadcast_to(np.asarray(bound, float), action.size) for bound in (action.low, action.high))
    yield from _clipped(actions, low, high)
    if any(record.success for record in records):
        return  # what solves tasks may hold an axis still
    yield from _constant(actions)
    yield from _one_sided(actions, low, high)
    if all(episode.travel < STANDS_STILL for episode in played):
        yield "the robot hardly moved in any episode: are the actions in the environment's units?"


def _sample(records: Sequence[EpisodeRecord], folder: RunFolder) -> Iterator[PlayedEpisode]:
    for record in records[:: max(1, len(records) // MOST_EPISODES)]:
        try:
            yield folder.load_played(record.key)
        except UsageError:  # lost or damaged: replay says so, when it is asked for
            continue


def _clipped(actions: np.ndarray, low: np.ndarray, high: np.ndarray) -> Iterator[str]:
    shares = _outside(actions, low, high)
    for axis in map(int, np.flatnonzero(shares >= CLIPPED_SHARE)):
        count = "every action was" if shares[axis] >= ALWAYS else f"{shares[axis]:.0%} of the actions were"
        yield (
            f"{count} clipped on axis {axis}: {_range(actions[:, axis])}, where the environment takes "
            f"{low[axis]:g} to {high[axis]:g}: {_question(axis, actions.shape[1])}"
        )


def _outside(actions: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """For each axis the share of actions that are out of bounds."""
    room = TOLERANCE * np.where(np.isfinite(high - low), high - low, 1.0)
    return ((actions < low - room) | (actions > high + room)).mean(axis=0)


def _constant(actions: np.ndarray) -> Iterator[str]:
    still = np.flatnonzero(np.ptp(actions, axis=0) < TOLERANCE)
    if len(still) == actions.shape[1]:
        yield f"every action was the same, {np.round(actions[0], 3).tolist()}: does the policy see what it should?"
        return
    for axis in map(int, still):
        yield f"axis {axis} was {actions[0, axis]:.3g} in every action: {_question(axis, actions.shape[1])}"


def _one_sided(actions: np.ndarray, low: np.ndarray, high: np.ndarray) -> Iterator[str]:
    """Within bounds, but never below zero, or never above it."""
    varies = np.ptp(actions, axis=0) >= TOLERANCE
    for axis in map(
        int, np.flatnonzero((low < 0) & (high > 0) & varies & (_outside(actions, low, high) < CLIPPED_SHARE))
    ):
        values = actions[:, axis]
        if values.min() >= -TOLERANCE or values.max() <= TOLERANCE:
            yield (
                f"axis {axis} stayed on one side of zero, {_range(values)}, where the environment takes "
                f"{low[axis]:g} to {high[axis]:g}: {_question(axis, actions.shape[1])}"
            )


def _range(values: Iterable[float]) -> str:
    array = np.asarray(values)
    return f"{array.min():.3g} to {array.max():.3g}"


def _question(axis: int, size: int) -> str:
    """The gripper is last, by custom."""
    return "is the gripper convention right?" if axis == size - 1 else "are the units and the order of axes right?"
