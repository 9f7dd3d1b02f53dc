"""The numbers of a dataset as the checks see them: one row per frame, one column per signal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from yardarm.datasets.episodes import Episode
from yardarm.datasets.features import INDEX_FEATURES
from yardarm.datasets.frames import read_frames
from yardarm.datasets.metadata import DatasetMetadata
from yardarm.datasets.names import dimension_names

__all__ = ["Signal", "Signals", "choose_episodes", "read_signals"]

# Larger vectors (a point cloud, an embedding) are not signals of a robot.
MOST_DIMENSIONS = 256
# 400 MB of numbers; of a larger dataset, episodes are taken at even distances.
MOST_NUMBERS = 100_000_000
# Quantiles of this many frames are as good as those of millions.
SAMPLED_FRAMES = 50_000
# Among fewer episodes, there is no telling which one is wrong.
FEWEST_EPISODES = 5
# A signal with so few values is a switch, whose steps are neither jumps nor motion of a normal size.
FEW_VALUES = 10


@dataclass(frozen=True, slots=True)
class Signal:
    """One number of a feature."""

    feature: str
    name: str

    def __str__(self) -> str:
        return f"{self.feature} {self.name}".strip()


@dataclass(frozen=True)
class Signals:
    """The states and actions of some episodes."""

    meta: DatasetMetadata
    episodes: Sequence[Episode]
    names: Sequence[Signal]
    values: np.ndarray
    """A row per frame, a column per signal."""
    timestamps: np.ndarray

    @cached_property
    def starts(self) -> np.ndarray:
        """The row of each episode's first frame, and the number of rows."""
        return np.cumsum([0, *(episode.length for episode in self.episodes)])

    def each(self) -> Iterator[tuple[Episode, np.ndarray]]:
        """Each episode and its rows."""
        for episode, start, stop in zip(self.episodes, self.starts[:-1], self.starts[1:], strict=True):
            yield episode, self.values[start:stop]

    def by_task(self) -> dict[tuple[str, ...], list[int]]:
        """The places of episodes that have the same instructions."""
        found: dict[tuple[str, ...], list[int]] = {}
        for place, episode in enumerate(self.episodes):
            found.setdefault(tuple(episode.tasks), []).append(place)
        return found

    @cached_property
    def _sample(self) -> np.ndarray:
        rows = self.values[:: max(1, len(self.values) // SAMPLED_FRAMES)].astype(np.float64)
        rows[~np.isfinite(rows)] = np.nan
        return rows

    @cached_property
    def usual(self) -> tuple[np.ndarray, np.ndarray]:
        """Where each signal usually is: from the 1% to the 99% quantile of all but a tenth of the episodes.

        So a few wrong values do not count, nor does a whole episode that is wrong.
        """
        if len(self.episodes) < FEWEST_EPISODES:
            low, high = _quantiles(self._sample)
            return low, high
        each = np.stack([_quantiles(rows) for _, rows in self.each()])
        low = np.quantile(each[:, 0], 0.1, axis=0, method="higher")
        high = np.quantile(each[:, 1], 0.9, axis=0, method="lower")
        return low, high

    @cached_property
    def spread(self) -> np.ndarray:
        """The usual range of each signal; of one that rarely moves, its whole range; 0 if it is constant."""
        low, high = self.usual
        if not len(self.values):
            return np.asarray(high - low)
        finite = np.where(np.isfinite(self.values), self.values, np.nan)
        known = np.where(np.isnan(finite).all(axis=0), 0.0, finite)
        whole = np.nanmax(known, axis=0) - np.nanmin(known, axis=0)
        return np.where(high > low, high - low, whole)

    @cached_property
    def is_switch(self) -> np.ndarray:
        """Whether each signal has only a few different values."""
        return np.array([len(np.unique(column)) <= FEW_VALUES for column in self._sample.T], bool)


def _quantiles(rows: np.ndarray) -> np.ndarray:
    """The 1% and 99% quantiles of each column, of the values that are numbers."""
    if not rows.size:
        return np.zeros((2, rows.shape[1]))
    if not np.isfinite(rows).all():
        rows = np.where(np.isfinite(rows), rows, np.nan)
        rows = np.where(np.isnan(rows).all(axis=0), 0.0, rows)
        return np.asarray(np.nanquantile(rows, [0.01, 0.99], axis=0))
    return np.asarray(np.quantile(rows, [0.01, 0.99], axis=0))


def read_signals(meta: DatasetMetadata, episodes: Sequence[Episode]) -> Signals:
    """Read all observations and actions that are numbers."""
    features = _watched(meta)
    columns = read_frames(meta, episodes, [*features, *(["timestamp"] if "timestamp" in meta.info.features else [])])
    rows = sum(episode.length for episode in episodes)
    sizes = {name: math.prod(meta.info.features[name].shape) for name in features}
    parts = [columns[name].reshape(rows, sizes[name]).astype(np.float32) for name in features]
    values = np.concatenate(parts, axis=1) if parts else np.zeros((rows, 0), np.float32)
    names = [Signal(key, own) for key in features for own in dimension_names(meta.info.features[key])]
    times = columns.get("timestamp")
    return Signals(meta, episodes, names, values, np.zeros(0) if times is None else times.astype(np.float64))


def _watched(meta: DatasetMetadata) -> list[str]:
    """Observations and actions; rewards and the like say nothing about how well an episode was recorded."""
    return [
        name
        for name, feature in meta.info.features.items()
        if feature.is_numeric
        and name not in INDEX_FEATURES
        and name.startswith(("observation", "action"))
        and math.prod(feature.shape) <= MOST_DIMENSIONS
    ]


def choose_episodes(meta: DatasetMetadata, chosen: Sequence[int], most_frames: int | None) -> list[Episode]:
    """All of these episodes; or as many as the limits allow, at even distances."""
    episodes = [meta.episodes[number] for number in chosen]
    numbers = sum(math.prod(meta.info.features[name].shape) for name in _watched(meta))
    most = min(most_frames or MOST_NUMBERS, MOST_NUMBERS // max(1, numbers))
    frames = sum(episode.length for episode in episodes)
    if frames <= most:
        return episodes
    count = max(1, len(episodes) * most // frames)
    return [episodes[place * len(episodes) // count] for place in range(count)]
