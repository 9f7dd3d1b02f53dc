"""Statistics of the episodes of a new dataset: kept where they are known, computed where not."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from yardarm.datasets.arrow import read_table, to_numpy
from yardarm.datasets.editing.recipe import OnProgress, PickedEpisode, Recipe
from yardarm.datasets.editing.segments import count_pixels
from yardarm.datasets.editing.thread_pool import ThreadPool
from yardarm.datasets.episodes import Episode
from yardarm.datasets.features import INDEX_FEATURES
from yardarm.datasets.info import DatasetInfo
from yardarm.datasets.layout import data_file
from yardarm.datasets.pictures import decode_picture
from yardarm.datasets.statistics import QUANTILES, FeatureStats, PixelCounts, Stats, number_stats
from yardarm.datasets.video import Segment
from yardarm.errors import DatasetFault

__all__ = ["EpisodeCounter", "KnownStats", "exact", "exact_columns"]

KINDS = ("min", "max", "mean", "std", "count")
# If pictures have no statistics and none were asked for, about this many pictures per episode are counted.
SAMPLE = 100


@dataclass(frozen=True, slots=True)
class KnownStats:
    """An episode's statistics that are known before its table is read."""

    stats: Stats
    pictures: dict[str, PixelCounts]


class EpisodeCounter:
    """Computes the statistics of a recipe's episodes. Videos are decoded in advance, on all cores."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._features = recipe.info.features
        self._pool = ThreadPool()
        self._totals: dict[str, PixelCounts] = {}

    def __enter__(self) -> EpisodeCounter:
        return self

    def __exit__(self, *exception: object) -> None:
        self._pool.__exit__(*exception)

    def known(self) -> Iterator[KnownStats]:
        """Each episode's known statistics, in order."""
        return self._pool.in_order(self._job(pick) for pick in self._recipe.picks)

    def stats(self, pick: PickedEpisode, table: pa.Table, known: KnownStats) -> dict[str, FeatureStats]:
        """All statistics of an episode."""
        stats: dict[str, FeatureStats] = {}
        for name, feature in self._features.items():
            if name in known.pictures:
                stats[name] = self._counted(name, known.pictures[name])
            elif name in known.stats:
                stats[name] = known.stats[name]
            elif feature.is_numeric:
                stats[name] = number_stats(to_numpy(feature, table[name]))
            elif feature.dtype == "image" and not feature.is_depth:
                stats[name] = self._counted(name, self._count_images(pick, name, table))
        return stats

    def totals(self) -> dict[str, FeatureStats]:
        """Statistics over all episodes of the pictures that were counted."""
        return {name: counts.stats() for name, counts in self._totals.items()}

    def _job(self, pick: PickedEpisode) -> partial[KnownStats]:
        stats = self._kept(pick)
        uncounted = {
            key: pick.segment(key)
            for key in self._recipe.info.video_keys
            if key not in stats and not self._features[key].is_depth
        }
        return partial(_count_videos, stats, uncounted, self._every(pick))

    def _kept(self, pick: PickedEpisode) -> Stats:
        """Statistics that are still valid; numbers without quantiles are left out, since they are quickly computed."""
        changed = {*INDEX_FEATURES, *self._recipe.added}
        stats = {name: own for name, own in pick.reader.stats(pick.episode).items() if name in self._features}
        if self._recipe.count_every or pick.is_trimmed:
            return {name: own for name, own in stats.items() if self._features[name].is_depth}
        needed = {name: (*KINDS, *QUANTILES) if self._features[name].is_numeric else KINDS for name in stats}
        return {
            name: own
            for name, own in stats.items()
            if name not in changed and all(kind in own for kind in needed[name])
        }

    def _every(self, pick: PickedEpisode) -> int:
        return self._recipe.count_every or max(1, len(pick.frames) // SAMPLE)

    def _count_images(self, pick: PickedEpisode, name: str, table: pa.Table) -> PixelCounts:
        encoded = table[name].combine_chunks().field("bytes")
        chosen = range(0, table.num_rows, self._every(pick))
        where = f"{pick.reader.meta.data_file(pick.episode)}: '{name}' of episode {pick.episode.index}"
        counts = PixelCounts()
        for part in self._pool.in_order(partial(_count_image, encoded, row, where) for row in chosen):
            counts.merge(part)
        return counts

    def _counted(self, name: str, counts: PixelCounts) -> FeatureStats:
        self._totals.setdefault(name, PixelCounts()).merge(counts)
        return counts.stats()


def _count_videos(stats: Stats, segments: dict[str, Segment], every: int, stop: threading.Event) -> KnownStats:
    return KnownStats(stats, {key: count_pixels(segment, every, stop) for key, segment in segments.items()})


def _count_image(encoded: pa.Array, row: int, where: str, stop: threading.Event) -> PixelCounts:
    counts = PixelCounts()
    try:
        counts.add(decode_picture(encoded[row].as_py()))
    except DatasetFault as error:
        raise DatasetFault(f"{where}, frame {row}: {error}") from error
    return counts


def exact_columns(
    root: Path, info: DatasetInfo, episodes: Sequence[Episode], on_progress: OnProgress
) -> dict[str, FeatureStats]:
    """Statistics of numbers over all frames, with exact quantiles; one column is in memory at a time."""
    paths = [data_file(root, info, slot) for slot in dict.fromkeys(episode.data for episode in episodes)]
    names = [name for name, feature in info.features.items() if feature.is_numeric]
    stats: dict[str, FeatureStats] = {}
    for number, name in enumerate(names, 1):
        feature = info.features[name]
        values = np.concatenate([to_numpy(feature, read_table(path, [name])[name]) for path in paths])
        stats[name] = exact(values)
        on_progress("statistics", number, len(names))
    return stats


def exact(values: np.ndarray) -> FeatureStats:
    """Statistics of a whole column, number by number: computing quantiles takes several copies of the data."""
    columns = values.reshape(-1, values.shape[-1] if values.ndim > 1 else 1)
    parts = [number_stats(columns[:, place]) for place in range(columns.shape[1])]
    stats = {kind: np.concatenate([part[kind] for part in parts]) for kind in parts[0] if kind != "count"}
    return {**stats, "count": np.array([len(values)])}
