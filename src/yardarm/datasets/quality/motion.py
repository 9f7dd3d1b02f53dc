"""Checks of how signals move: not at all, by jumps, or with gaps in time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from yardarm.datasets.episodes import Episode
from yardarm.datasets.quality.findings import PROBLEM, WARNING, Finding
from yardarm.datasets.quality.signals import Signals

__all__ = ["find_gaps", "find_idle", "find_jumps"]

# A signal is still while it stays within this share of its usual range. Encoders and simulators jitter by less; even a
# slow arm (a minute for its whole range) leaves such a band within a second.
STILL = 0.01
# Shorter waits are part of most recordings, and do little harm: less than this share of an episode, or so few frames.
IDLE_SHARE = 0.2
IDLE_FRAMES = 10
# An episode that stands still for most of its time, with movements in between.
MOSTLY_IDLE = 0.6
# Stillness in the middle of an episode is judged by half seconds.
BLOCK_S = 0.5

# A jump is much larger than the largest step of a normal episode of the task (some signals jump in every episode: a
# gripper's command, or a simulator's first frame), and a good part of the signal's usual range.
JUMP_FACTOR = 4.0
JUMP_SHARE = 0.3
# Among fewer episodes there is no normal one.
FEWEST_EPISODES = 3
# An angle that turns over jumps by a whole turn, in radians or degrees.
TURNS = (2 * np.pi, 360.0)
# A frame is late if it comes more than half a frame after its time.
LATE = 0.5


def find_idle(signals: Signals) -> Iterator[Finding]:
    """Episodes in which nothing moves at the start, at the end, or most of the time."""
    band = np.where(signals.spread > 0, STILL * signals.spread, np.inf)
    if not np.isfinite(band).any():
        return
    block = max(IDLE_FRAMES, round(BLOCK_S * signals.meta.fps))
    for episode, rows in signals.each():
        yield from _idle(episode, rows, band, block)


def _idle(episode: Episode, rows: np.ndarray, band: np.ndarray, block: int) -> Iterator[Finding]:
    length = episode.length
    first, last = _still_frames(rows, band), _still_frames(rows[::-1], band)
    if first == length:
        if length >= IDLE_FRAMES:
            yield Finding("idle", WARNING, "nothing moves in the whole episode", episode.index, range(length))
        return
    at_start, at_end = (count >= max(IDLE_FRAMES, IDLE_SHARE * length) for count in (first, last))
    keep = range(first if at_start else 0, length - last if at_end else length)
    if at_start:
        yield _standing(episode, "first", range(first), keep)
    if at_end:
        yield _standing(episode, "last", range(length - last, length), keep)
    if not (at_start or at_end):
        share = _still_share(rows, band, block)
        if share >= MOSTLY_IDLE:
            message = f"nothing moves for {share:.0%} of the time, in the middle of the episode too"
            yield Finding("idle", WARNING, message, episode.index)


def _still_frames(rows: np.ndarray, band: np.ndarray) -> int:
    """How many frames from the first on stay within the band."""
    reach = np.maximum.accumulate(rows) - np.minimum.accumulate(rows)
    moves = (reach > band).any(axis=1)
    return int(moves.argmax()) if moves.any() else len(rows)


def _still_share(rows: np.ndarray, band: np.ndarray, block: int) -> float:
    whole = len(rows) // block
    if not whole:
        return 0.0
    blocks = rows[: whole * block].reshape(whole, block, -1)
    return float((np.ptp(blocks, axis=1) <= band).all(axis=1).mean())


def _standing(episode: Episode, which: str, frames: range, keep: range) -> Finding:
    share = len(frames) / episode.length
    message = f"nothing moves for the {which} {len(frames)} of {episode.length} frames ({share:.0%})"
    return Finding("idle", WARNING, message, episode.index, frames, keep=keep)


def find_jumps(signals: Signals) -> Iterator[Finding]:
    """Steps that are far larger than those of normal episodes."""
    if len(signals.episodes) < FEWEST_EPISODES or not signals.names:
        return
    steps = np.abs(np.diff(signals.values, axis=0, prepend=signals.values[:1]))
    steps[signals.starts[:-1]] = 0  # from one episode to the next
    steps[~np.isfinite(steps)] = 0
    for turn in TURNS:
        steps[np.abs(steps - turn) < 0.05 * turn] = 0
    normal = _normal_steps(signals, steps)
    limit = np.maximum(JUMP_FACTOR * normal, JUMP_SHARE * signals.spread)
    limit[:, signals.is_switch | (signals.spread == 0)] = np.inf
    largest = np.maximum.reduceat(steps, signals.starts[:-1])
    for place in np.nonzero((largest > limit).any(axis=1))[0]:
        yield from _jumps_of(signals, int(place), steps, _Normal(normal[place], limit[place]))


def _normal_steps(signals: Signals, steps: np.ndarray) -> np.ndarray:
    """For each episode and signal, the largest step of a normal episode, of the same task and of any."""
    normal = np.tile(np.quantile(steps, 0.99, axis=0), (len(signals.episodes), 1))
    largest = np.maximum.reduceat(steps, signals.starts[:-1])
    for places in (range(len(signals.episodes)), *signals.by_task().values()):
        if len(places) >= FEWEST_EPISODES:
            normal[list(places)] = np.maximum(np.median(largest[list(places)], axis=0), normal[list(places)])
    return normal


@dataclass(frozen=True, slots=True)
class _Normal:
    """What is normal for an episode's signals: the largest step, and the step above which it is a jump."""

    step: np.ndarray
    limit: np.ndarray


def _jumps_of(signals: Signals, place: int, steps: np.ndarray, normal: _Normal) -> Iterator[Finding]:
    """The largest jump of each feature in an episode."""
    start, stop = signals.starts[place], signals.starts[place + 1]
    times = steps[start:stop] / normal.limit
    for feature in dict.fromkeys(signal.feature for signal in signals.names):
        columns = [number for number, signal in enumerate(signals.names) if signal.feature == feature]
        frame, column = (int(own) for own in np.unravel_index(times[:, columns].argmax(), (len(times), len(columns))))
        signal = columns[column]
        if times[frame, signal] <= 1:
            continue
        before, after = signals.values[start + frame - 1, signal], signals.values[start + frame, signal]
        message = f"{signals.names[signal]} jumps from {before:.4g} to {after:.4g} at frame {frame}"
        if normal.step[signal] > 0:
            message += f", {steps[start + frame, signal] / normal.step[signal]:.0f} times the usual largest step"
        yield Finding("jumps", WARNING, message, signals.episodes[place].index, range(frame, frame + 1), feature)


def find_gaps(signals: Signals) -> Iterator[Finding]:
    """Frames that come late, or whose time runs backwards."""
    if not len(signals.timestamps):
        return
    fps = signals.meta.fps
    steps = np.diff(signals.timestamps, prepend=0)
    wrong = np.abs(steps * fps - 1) > LATE
    wrong[signals.starts[:-1]] = False
    for place, episode in enumerate(signals.episodes):
        frames = np.nonzero(wrong[signals.starts[place] : signals.starts[place + 1]])[0]
        if not len(frames):
            continue
        frame = int(frames[0])
        step = steps[signals.starts[place] + frame]
        more = f" ({len(frames)} such frames)" if len(frames) > 1 else ""
        message = f"frame {frame} comes {step:.3f} s after the one before it, not {1 / fps:.3f} s{more}"
        severity = WARNING if step > 0 else PROBLEM
        yield Finding("timestamps", severity, message, episode.index, range(frame, frame + 1), "timestamp")
