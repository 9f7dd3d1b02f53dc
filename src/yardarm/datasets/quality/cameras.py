"""Checks of pictures, from a few of each episode: cameras that hang while the robot moves, and blank pictures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from yardarm.datasets.browsing import episode_pictures
from yardarm.datasets.editing.thread_pool import ThreadPool
from yardarm.datasets.episodes import Episode
from yardarm.datasets.metadata import DatasetMetadata
from yardarm.datasets.pictures import decode_picture
from yardarm.datasets.quality.findings import PROBLEM, WARNING, Finding
from yardarm.datasets.quality.signals import Signals
from yardarm.datasets.video.decoding import PyAVReader
from yardarm.errors import DatasetFault

__all__ = ["find_in_pictures", "watched_cameras"]

# Decoding is slow: this many pictures of an episode are looked at.
LOOKS = 8
# Pictures are compared by the means of so many fields a side. An arm that moves changes some of them by 5 levels of 255
# and more, while the noise of cameras and of small, strongly compressed videos averages out to less than 2.
FIELDS = 8
SAME = 2.0
# So many looks in a row must be the same (about half of the episode), while a signal moves by this share of its range.
FROZEN_LOOKS = 4
MOVED = 0.1
# A picture is blank if its brightest and darkest fields differ by less; a lens cap gives 1 to 3.
BLANK = 4.0
BLACK = 16.0


def watched_cameras(meta: DatasetMetadata) -> list[str]:
    """The cameras that can be looked at; depth maps cannot."""
    return [key for key in meta.camera_keys if not meta.info.features[key].is_depth]


def find_in_pictures(signals: Signals, on_episode: Callable[[int, int], Any]) -> Iterator[Finding]:
    """Look at every camera of every episode; `on_episode` is called with how many are done, and the total."""
    cameras = watched_cameras(signals.meta)
    jobs = [(place, key) for place in range(len(signals.episodes)) for key in cameras]
    with ThreadPool() as pool:
        looks = pool.in_order(partial(_looked, signals.meta, signals.episodes[place], key) for place, key in jobs)
        for done, ((place, key), found) in enumerate(zip(jobs, looks, strict=True), 1):
            rows = signals.values[signals.starts[place] : signals.starts[place + 1]]
            yield from _judged(
                signals.episodes[place], key, found, rows / np.where(signals.spread > 0, signals.spread, np.inf)
            )
            on_episode(done, len(jobs))


def _looked(meta: DatasetMetadata, episode: Episode, key: str, stop: threading.Event) -> np.ndarray | str:
    """The fields of some pictures; or why they cannot be read."""
    if stop.is_set():
        return "stopped"
    frames = _moments(episode.length)
    try:
        if key in episode.videos:
            reader = PyAVReader(meta.video_file(episode, key))
            try:
                times = [episode.videos[key].start_s + frame / meta.fps for frame in frames]
                pictures = reader.planes_at(times, 0.5 / meta.fps).transpose(0, 2, 3, 1)
            finally:
                reader.close()
        else:
            encoded = episode_pictures(meta, episode, key)
            pictures = np.stack([decode_picture(encoded[frame]) for frame in frames])
    except DatasetFault as error:
        return str(error)
    return np.stack([_fields(picture) for picture in pictures])


def _moments(length: int) -> list[int]:
    return sorted({int(frame) for frame in np.linspace(0, length - 1, LOOKS).round()})


def _fields(picture: np.ndarray) -> np.ndarray:
    """The mean brightness of each field of a picture."""
    grey = picture.mean(axis=2)
    down, across = (max(1, side // FIELDS) for side in grey.shape)
    rows, columns = grey.shape[0] // down, grey.shape[1] // across
    return np.asarray(grey[: rows * down, : columns * across].reshape(rows, down, columns, across).mean(axis=(1, 3)))


def _judged(episode: Episode, key: str, found: np.ndarray | str, rows: np.ndarray) -> Iterator[Finding]:
    """What a few pictures of an episode show; `rows` are its signals, in units of their usual ranges."""
    if isinstance(found, str):
        yield Finding("cameras", PROBLEM, f"{key} cannot be read: {found}", episode.index, feature=key)
        return
    blank = np.ptp(found, axis=(1, 2)) < BLANK
    if blank.mean() >= 0.5:
        what = "black" if found[blank].mean() < BLACK else "of a single colour"
        message = f"{key} is {what} in {blank.sum()} of the {len(found)} pictures that were looked at"
        yield Finding("cameras", WARNING, message, episode.index, feature=key)
        return
    run = _longest_run(np.abs(np.diff(found, axis=0)).max(axis=(1, 2)) < SAME)
    if len(run) + 1 < FROZEN_LOOKS:
        return
    frames = _moments(episode.length)
    first, last = frames[run.start], frames[run.stop]
    if rows.shape[1] and np.nanmax(np.ptp(rows[first : last + 1], axis=0)) >= MOVED:
        message = f"{key} does not change from about frame {first} to {last}, although the robot moves"
        yield Finding("cameras", WARNING, message, episode.index, range(first, last + 1), key)


def _longest_run(same: Sequence[bool] | np.ndarray) -> range:
    """The longest row of true values."""
    best = run = range(0)
    for place, holds in enumerate(same):
        run = range(run.start if run else place, place + 1) if holds else range(0)
        best = run if len(run) > len(best) else best
    return best
