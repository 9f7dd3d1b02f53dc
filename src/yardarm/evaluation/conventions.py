"""Searches what was played for actions that were hardly meant for the environment.

A policy with another convention (other units, a gripper from 0 to 1, an axis too many) fails every episode, and reads
as 0% success. What is odd about its actions says so. But healthy policies do odd things, too: they exceed bounds, push
one way only, and leave a gripper alone that they do not need. So only tasks that are never solved are looked at, and
the evidence must be strong. benchmarks/2026-11-odd-actions.md counts true and false alarms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from yardarm.errors import UsageError
from yardarm.results import EpisodeRecord, PlayedEpisode, RunFolder, RunResult, TaskResult
from yardarm.tasks import ActionSpec

__all__ = ["odd_actions"]

# Enough to recognise a convention, few enough to read quickly.
MOST_EPISODES = 200
FEWEST_ACTIONS = 100
# The share of episodes that may be solved by accident.
LUCK = 0.1
# One task may need one side of an axis only; several tasks need both.
SEVERAL_TASKS = 3
# Bounds are met by rounding, and arms sag a little while they stand still.
TOLERANCE = 1e-3
STANDS_STILL = 0.01
# As parts of the way from the middle of an axis to its bound: a policy that imitates a controller may ask for several
# times more than it gets, but neither for ten times more, nor for twice as much in every action.
FAR_OUT, TWICE, ALWAYS = 10.0, 2.0, 0.99
TINY, NEAR_ZERO, NEAR_BOUND = 0.05, 0.1, 0.9


def odd_actions(result: RunResult, folder: RunFolder) -> tuple[str, ...]:
    """One line for each oddity, for each kind of action that the run's environments take."""
    kinds: dict[ActionSpec, list[TaskResult]] = {}
    for task in result.tasks:
        kinds.setdefault(task.task.env.action, []).append(task)
    return tuple(note for action, tasks in kinds.items() for note in _notes(action, tasks, folder))


def _notes(action: ActionSpec, tasks: Sequence[TaskResult], folder: RunFolder) -> Iterator[str]:
    finished = [record for task in tasks for record in task.episodes if record.status != "error"]
    solved = {record.key.task for record in finished if record.success}
    if sum(record.success for record in finished) > LUCK * len(finished):
        return  # tasks share their convention: if some are solved, it is right
    records = [record for record in finished if record.key.task not in solved]
    played = _Played.of(action, list(_sample(records, folder)))
    if played is None:
        return
    yield from _clipped(played)
    yield from _constant(played)
    yield from _one_sided(played)
    yield from _hardly_moving(played)


def _sample(records: Sequence[EpisodeRecord], folder: RunFolder) -> Iterator[tuple[str, PlayedEpisode]]:
    """Episodes, and the tasks that they are of."""
    for record in records[:: max(1, len(records) // MOST_EPISODES)]:
        try:
            yield record.key.task, folder.load_played(record.key)
        except UsageError:  # lost or damaged: `yardarm replay` reports it
            continue


@dataclass(frozen=True, slots=True)
class _Played:
    """All actions of failed episodes, (action, axis), and what their environment takes."""

    actions: np.ndarray
    low: np.ndarray
    high: np.ndarray
    grippers: frozenset[int]
    tasks: int
    held_tasks: np.ndarray
    """For each axis, the number of tasks in which it never changed."""
    stood_still: bool

    @classmethod
    def of(cls, action: ActionSpec, sample: Sequence[tuple[str, PlayedEpisode]]) -> _Played | None:
        """None if there is too little evidence, or if actions are choices, which may well be the first or the last."""
        if action.discrete:
            return None
        by_task: dict[str, list[np.ndarray]] = {}
        for task, episode in sample:
            by_task.setdefault(task, []).append(episode.actions.astype(np.float64))
        in_tasks = [np.concatenate(own) for own in by_task.values()]
        if sum(map(len, in_tasks)) < FEWEST_ACTIONS:
            return None
        low, high = (np.broadcast_to(np.asarray(bound, float), action.size) for bound in (action.low, action.high))
        return cls(
            np.concatenate(in_tasks),
            low,
            high,
            _grippers(action),
            len(in_tasks),
            np.sum([np.ptp(own, axis=0) < TOLERANCE for own in in_tasks], axis=0),
            all(episode.travel < STANDS_STILL for _, episode in sample),
        )

    @property
    def parts(self) -> np.ndarray:
        """How far actions are from the middle of each axis, where 1 is its bound; 0 where nothing bounds it."""
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(np.abs(self.actions - (self.low + self.high) / 2) / ((self.high - self.low) / 2))

    @property
    def has_middle_at_zero(self) -> np.ndarray:
        """The axes that go both ways from zero."""
        return (self.low < 0) & (self.high > 0) & np.isfinite(self.low) & np.isfinite(self.high)

    @property
    def varies(self) -> np.ndarray:
        """The axes that were used at all."""
        return np.ptp(self.actions, axis=0) >= TOLERANCE

    @property
    def several_tasks(self) -> bool:
        """Whether there are enough tasks to need both sides of an axis."""
        return self.tasks >= SEVERAL_TASKS

    def range(self, axis: int) -> str:
        """What was played on an axis, and what could be."""
        values = self.actions[:, axis]
        bounds = f"{self.low[axis]:g} to {self.high[axis]:g}"
        return f"{values.min():.3g} to {values.max():.3g}, where the environment takes {bounds}"

    def question(self, axis: int) -> str:
        """What may be wrong."""
        return (
            "is the gripper convention right?"
            if axis in self.grippers
            else "are the units and the order of axes right?"
        )


def _grippers(action: ActionSpec) -> frozenset[int]:
    """By their names; without names the last axis, as is usual."""
    named = frozenset(axis for axis, name in enumerate(action.names) if "gripper" in name)
    return named or (frozenset() if action.names else frozenset({action.size - 1}))


def _clipped(played: _Played) -> Iterator[str]:
    parts = played.parts
    outside, typical = (parts > 1 + TOLERANCE).mean(axis=0), np.median(parts, axis=0)
    for axis in _axes((typical >= FAR_OUT) | ((outside >= ALWAYS) & (typical >= TWICE))):
        count = "every action was" if outside[axis] >= ALWAYS else f"{outside[axis]:.0%} of the actions were"
        yield f"{count} out of bounds on axis {axis}: {played.range(axis)}: {played.question(axis)}"


def _constant(played: _Played) -> Iterator[str]:
    first = played.actions[0]
    if not played.varies.any():
        yield f"every action was the same, {np.round(first, 3).tolist()}: does the policy see what it should?"
        return
    for axis in _axes(2 * played.held_tasks >= played.tasks):
        is_gripper, is_held = axis in played.grippers, not played.varies[axis]
        if is_gripper and not (is_held and played.several_tasks and played.parts[0, axis] < NEAR_BOUND):
            continue  # it does not move in tasks that do not need it, nor if the policy never gets that far
        if is_held and played.parts[0, axis] < TWICE:
            yield f"axis {axis} was {first[axis]:.3g} in every action: {played.question(axis)}"
        elif not is_held:
            where = f"{played.held_tasks[axis]} of {played.tasks} tasks"
            yield f"axis {axis} never changed in {where}: {played.question(axis)}"


def _one_sided(played: _Played) -> Iterator[str]:
    """Within bounds, but never below zero, or never above it, in several tasks."""
    if not played.several_tasks:
        return
    below, above = (played.actions < -TOLERANCE).any(axis=0), (played.actions > TOLERANCE).any(axis=0)
    within = (played.parts <= 1 + TOLERANCE).all(axis=0)
    for axis in _axes(played.has_middle_at_zero & played.varies & within & ~(below & above)):
        # The gripper of a policy that never gets to closing it stays near its bound.
        if axis not in played.grippers or np.abs(played.actions[:, axis]).min() <= NEAR_ZERO * played.high[axis]:
            yield f"axis {axis} stayed on one side of zero, {played.range(axis)}: {played.question(axis)}"


def _hardly_moving(played: _Played) -> Iterator[str]:
    arm = [axis for axis in _axes(played.has_middle_at_zero) if axis not in played.grippers]
    largest = played.parts[:, arm].max(initial=0.0)
    if played.stood_still or (arm and played.varies[arm].any() and largest < TINY):
        size = f" (no action is beyond {largest:.1%} of its bounds)" if arm and largest < TINY else ""
        yield f"the robot hardly moved in any episode{size}: are the actions in the environment's units?"


def _axes(chosen: np.ndarray) -> list[int]:
    return [int(axis) for axis in np.flatnonzero(chosen)]
