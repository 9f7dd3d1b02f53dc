"""Checks of the times that were measured beside the grid: missed and late turns, cameras that hung or lagged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from yardarm.datasets.episodes import Episode
from yardarm.datasets.measured import MeasuredTimes, read_measured
from yardarm.datasets.quality.findings import NOTE, WARNING, Finding
from yardarm.datasets.quality.signals import Signals
from yardarm.errors import DatasetFault

__all__ = ["find_in_measured"]

# A policy sees evenly spaced frames: so many missing ones in a row, or this share of all, make it see a jump.
GAP_S = 0.2
MISSED = 0.02
# The largest part of a period by which turns may begin too late, but for one in a hundred.
LATE = 0.5
# A camera that gives the same picture for so long hangs. At a rate of its own, it repeats each picture now and then.
FROZEN_S = 0.5
REPEATED = 0.25
# How much older than the joints pictures may be, usually.
OLD_S = 0.15


def find_in_measured(signals: Signals) -> Iterator[Finding]:
    """Look at the measured times of every episode that has some."""
    fps, known = signals.meta.fps, []
    for episode in signals.episodes:
        try:
            measured = read_measured(signals.meta.root, episode.index)
        except DatasetFault as error:
            yield Finding("files", WARNING, f"{error}; its measured times are lost", episode.index)
            continue
        if measured is None:
            continue
        if len(measured) != episode.length:
            message = f"there are measured times of {len(measured)} frames, but the episode has {episode.length}"
            yield Finding("files", WARNING, message, episode.index)
            continue
        known.append(measured)
        yield from _turns(episode, measured, fps)
        for camera in measured.numbers:
            yield from _camera(episode, measured, camera, fps)
    if known:
        yield _whole(known, fps)


def _turns(episode: Episode, measured: MeasuredTimes, fps: float) -> Iterator[Finding]:
    if episode.length < 2:
        return
    gaps = np.diff(measured.tick) - 1
    missed, place = int(gaps.sum()), int(gaps.argmax())
    if gaps[place] >= GAP_S * fps or missed > MISSED * (episode.length + missed):
        message = (
            f"{missed} of {episode.length + missed} turns were missed, {gaps[place]} of them after frame {place}: "
            f"there, {(gaps[place] + 1) / fps:.2f} s look like {1 / fps:.2f} s"
        )
        yield Finding("turns", WARNING, message, episode.index, range(place, place + 2))
    late = measured.began_s - measured.due_s
    if (worst := float(np.quantile(late, 0.99))) > LATE / fps:
        place = int(late.argmax())
        message = f"turns began up to {1000 * worst:.0f} ms late (99%; a period has {1000 / fps:.0f} ms)"
        yield Finding("turns", WARNING, message, episode.index, range(place, place + 1))


def _camera(episode: Episode, measured: MeasuredTimes, camera: str, fps: float) -> Iterator[Finding]:
    key, numbers = f"observation.images.{camera}", measured.numbers[camera]
    starts = np.flatnonzero(np.r_[True, np.diff(numbers) != 0])
    lengths = np.diff(np.r_[starts, len(numbers)])
    longest = int(lengths.argmax())
    first, length = int(starts[longest]), int(lengths[longest])
    if length > max(2, FROZEN_S * fps):
        message = f"{key} shows the same picture for {length / fps:.1f} s, from frame {first} to {first + length - 1}"
        yield Finding("cameras", WARNING, message, episode.index, range(first, first + length), key)
    elif pause := _longest_pause(starts, measured.captured_s[camera], numbers):
        message = f"{key} took no picture for {pause.seconds:.1f} s after frame {pause.frame}"
        yield Finding("cameras", WARNING, message, episode.index, range(pause.frame, pause.frame + 2), key)
    elif episode.length > 10 and 1 - len(starts) / episode.length > REPEATED:
        message = f"{key} gave {len(starts)} pictures for {episode.length} frames; the others show them again"
        yield Finding("cameras", NOTE, message, episode.index, feature=key)
    age = float(np.median(measured.joints_s - measured.captured_s[camera]))
    if age > OLD_S:
        message = f"pictures of {key} are {1000 * age:.0f} ms older than the joints beside them (median)"
        yield Finding("cameras", WARNING, message, episode.index, feature=key)


@dataclass(frozen=True, slots=True)
class _Pause:
    """A camera gave no picture for so long, after a frame."""

    seconds: float
    frame: int


def _longest_pause(starts: np.ndarray, captured_s: np.ndarray, numbers: np.ndarray) -> _Pause | None:
    """The longest time between two pictures of which the second is the camera's next, if it hung for that long.

    While a picture is too old the arm holds still and no frame is recorded, so repeated pictures do not show it.
    """
    passed = np.diff(captured_s[starts]) * (np.diff(numbers[starts]) == 1)
    if not len(passed) or passed.max() <= FROZEN_S:
        return None
    place = int(passed.argmax())
    return _Pause(float(passed[place]), int(starts[place + 1]) - 1)


def _whole(known: list[MeasuredTimes], fps: float) -> Finding:
    """How well the rate was kept in the whole dataset."""
    turns = sum(len(measured) for measured in known)
    missed = sum(int((np.diff(measured.tick) - 1).sum()) for measured in known)
    errors = [np.abs(np.diff(measured.began_s) - np.diff(measured.tick) / fps) for measured in known]
    together = np.concatenate(errors)
    spread = ""
    if len(together):
        middle, most, worst = (1000 * float(value) for value in (*np.quantile(together, [0.5, 0.99]), together.max()))
        spread = f"; period error {middle:.1f} ms in the median, {most:.1f} ms at 99%, {worst:.1f} ms at worst"
    return Finding("turns", NOTE, f"recorded at {fps:g} Hz: {turns} turns, {missed} missed{spread}")
