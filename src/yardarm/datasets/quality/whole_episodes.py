"""Checks that compare episodes: copies, unusual lengths, missing instructions, and ones unlike all others."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np

from yardarm.datasets.quality.findings import NOTE, WARNING, Finding
from yardarm.datasets.quality.signals import Signals

__all__ = ["find_duplicates", "find_unlike", "find_unusual_lengths", "find_without_instruction"]

# Episodes are compared at this many moments, which tell apart any two that a person would.
MOMENTS = 32
# Two episodes are nearly the same if they differ by less than this share of each signal's usual range, on average and
# at most. Episodes of one task that start from different places differ by 10% and more.
ALIKE, ALIKE_AT_MOST = 0.003, 0.02
# And if their lengths differ by no more than this.
SAME_LENGTH = 0.02
# Compared with so many others at a time, to bound the memory.
AT_ONCE = 1024

# Fewer frames than this are a false start: no task is done in them.
FEWEST_FRAMES = 5
# An unusual length is this many times the median of the task, and far outside of the lengths' own spread.
LENGTH_FACTOR = 3.0
# Robust z-scores (distance from the median by the median absolute deviation, scaled as a standard deviation).
MAD = 1.4826
FAR = 6.0
# In a smaller group there is no telling what is usual.
FEWEST_IN_GROUP = 8
# An episode unlike the others is this many times as far from the nearest other one as is usual, and by this z-score.
UNLIKE_FACTOR = 4.0
FAR_FROM_ALL = 4.0


def find_duplicates(signals: Signals) -> Iterator[Finding]:
    """Episodes that have the same numbers as an earlier one, exactly or nearly."""
    copies = _exact_copies(signals)
    nearly: dict[int, int] = {}
    for later, earlier in _near_copies(signals):
        nearly[later] = min(earlier, nearly.get(later, earlier))
    for later in sorted({*copies, *nearly}):
        earlier, how = (copies[later], "the same") if later in copies else (nearly[later], "nearly the same")
        message = f"has {how} states and actions as episode {signals.episodes[earlier].index}"
        yield Finding("duplicates", WARNING, message, signals.episodes[later].index)


def _exact_copies(signals: Signals) -> dict[int, int]:
    known: dict[tuple[int, bytes], int] = {}
    copies = {}
    for place, (episode, rows) in enumerate(signals.each()):
        if not signals.names:
            break
        key = (episode.length, hashlib.blake2b(np.ascontiguousarray(rows).tobytes(), digest_size=16).digest())
        if known.setdefault(key, place) != place:
            copies[place] = known[key]
    return copies


def _near_copies(signals: Signals) -> Iterator[tuple[int, int]]:
    """Pairs of places, the later first."""
    shapes = _shapes(signals)
    if not shapes.shape[1]:
        return
    lengths = np.array([episode.length for episode in signals.episodes])
    for first, distances in _distances(shapes):
        block = slice(first, first + len(distances))
        same_length = np.abs(lengths[block, None] - lengths[None, :]) <= np.maximum(1, SAME_LENGTH * lengths[None, :])
        for place, other in zip(*np.nonzero((distances < ALIKE) & same_length), strict=True):
            later = first + place
            if other < later and np.abs(shapes[later] - shapes[other]).max() < ALIKE_AT_MOST:
                yield int(later), int(other)


def _distances(shapes: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """The first row of each block, and how far its rows are from all rows, as a mean over signals and moments."""
    centred = shapes - shapes.mean(axis=0)
    squares = (centred**2).sum(axis=1)
    for first in range(0, len(shapes), AT_ONCE):
        block = slice(first, first + AT_ONCE)
        apart = squares[block, None] + squares[None, :] - 2 * centred[block] @ centred.T
        yield first, np.sqrt(np.maximum(apart, 0) / shapes.shape[1])


def _shapes(signals: Signals) -> np.ndarray:
    """Each episode as one row: its signals at some moments, in units of their usual ranges."""
    moves = signals.spread > 0
    scale = signals.spread[moves].astype(np.float32)
    rows = []
    for _, own in signals.each():
        moments = np.linspace(0, len(own) - 1, MOMENTS).round().astype(int)
        rows.append(np.nan_to_num(own[moments][:, moves] / scale, posinf=0, neginf=0).ravel())
    return np.stack(rows) if rows else np.zeros((0, 0), np.float32)


def find_unlike(signals: Signals) -> Iterator[Finding]:
    """Episodes that move unlike all others of the same task."""
    shapes = _shapes(signals)
    for places in signals.by_task().values():
        if len(places) < FEWEST_IN_GROUP or not shapes.shape[1]:
            continue
        nearest = _nearest(np.clip(shapes[places], -10, 10))
        # Distances differ by factors, like lengths do.
        unlike = (_robust_z(np.log(nearest + 1e-9)) > FAR_FROM_ALL) & (nearest > UNLIKE_FACTOR * np.median(nearest))
        for place in np.nonzero(unlike)[0]:
            message = f"moves unlike the other {len(places) - 1} episodes of its task"
            yield Finding("unlike", NOTE, message, signals.episodes[places[place]].index)


def _nearest(shapes: np.ndarray) -> np.ndarray:
    """How far each episode is from the one that is most like it: a task may be done in several ways."""
    nearest = []
    for first, distances in _distances(shapes):
        distances[np.arange(len(distances)), first + np.arange(len(distances))] = np.inf
        nearest.append(distances.min(axis=1))
    return np.concatenate(nearest)


def find_unusual_lengths(signals: Signals) -> Iterator[Finding]:
    """Episodes that are much longer or shorter than the others of the same task, or hardly there."""
    for episode in signals.episodes:
        if episode.length < FEWEST_FRAMES:
            message = f"has only {episode.length} frame{'' if episode.length == 1 else 's'}"
            yield Finding("lengths", WARNING, message, episode.index, range(episode.length))
    for places in signals.by_task().values():
        lengths = np.array([signals.episodes[place].length for place in places], float)
        if len(places) < FEWEST_IN_GROUP:
            continue
        middle = float(np.median(lengths))
        times = np.maximum(lengths / middle, middle / lengths)
        # The spread of lengths is by factors: twice as long is as unusual as half as long.
        unusual = (times > LENGTH_FACTOR) & (np.abs(_robust_z(np.log(lengths))) > FAR) & (lengths >= FEWEST_FRAMES)
        for place in np.nonzero(unusual)[0]:
            how = "long" if lengths[place] > middle else "short"
            message = f"is {how}: {lengths[place]:.0f} frames, where the median of its task is {middle:.0f}"
            yield Finding("lengths", WARNING, message, signals.episodes[places[place]].index)


def _robust_z(values: np.ndarray) -> np.ndarray:
    """Distances from the median in robust standard deviations; one that is 0 still lets a distance be far."""
    distances = values - np.median(values)
    return np.asarray(distances / (MAD * np.median(np.abs(distances)) + 1e-9))


def find_without_instruction(signals: Signals) -> Iterator[Finding]:
    """Episodes whose instruction is missing or empty."""
    without = [episode.index for episode in signals.episodes if not any(task.strip() for task in episode.tasks)]
    if not without:
        return
    if len(without) == len(signals.episodes):
        message = "no episode has an instruction: a policy that reads instructions cannot learn from this dataset"
        yield Finding("instructions", NOTE, message)
        return
    for index in without:
        yield Finding("instructions", WARNING, "has no instruction, although others have one", index)
