"""Statistics of features, as LeRobot stores them: minimum, maximum, mean, deviation, count and five quantiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from yardarm.contents import anything, map_of, read_json
from yardarm.errors import DatasetFault
from yardarm.files import write_json

__all__ = [
    "IMAGENET",
    "FeatureStats",
    "PixelCounts",
    "Stats",
    "aggregate",
    "read_stats",
    "stats_from_json",
    "with_imagenet",
    "write_stats",
]

FeatureStats = dict[str, np.ndarray]
Stats = Mapping[str, FeatureStats]

KINDS = ("min", "max", "mean", "std", "count")
QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
# What networks trained on ImageNet expect of their input.
IMAGENET = {
    "mean": np.array([0.485, 0.456, 0.406]).reshape(3, 1, 1),
    "std": np.array([0.229, 0.224, 0.225]).reshape(3, 1, 1),
}
# Larger pictures are sampled on a grid of about this many pixels a side.
PICTURE_SIDE = 150


# The squares of numbers beyond 1e150 overflow: their deviation is infinite.
_huge = np.errstate(over="ignore", invalid="ignore")


@_huge
def number_stats(values: np.ndarray) -> FeatureStats:
    """Statistics of numbers (a row per frame) with exact quantiles; for matrices along the last axis, as in LeRobot."""
    array = values.reshape(-1, values.shape[-1] if values.ndim > 1 else 1).astype(np.float64)
    quantiles = np.quantile(array, list(QUANTILES.values()), axis=0)
    return {
        "min": array.min(axis=0),
        "max": array.max(axis=0),
        "mean": array.mean(axis=0),
        "std": array.std(axis=0),
        "count": np.array([len(values)]),
        **dict(zip(QUANTILES, quantiles, strict=True)),
    }


class PixelCounts:
    """Counts each value in each channel; all statistics of pictures follow from that, exactly.

    Of colours, there are 256 in 3 channels, which mean 0 to 1; of distances, 65536 in one, which mean themselves.
    """

    def __init__(self, is_depth: bool = False) -> None:
        self._values = np.arange(2**16) * 1.0 if is_depth else np.arange(256) / 255
        self._counts = np.zeros((1 if is_depth else 3, len(self._values)), np.int64)
        self._frames = 0

    def add(self, picture: np.ndarray) -> None:
        """Count a picture (height, width, channels)."""
        step = max(1, max(picture.shape[:2]) // PICTURE_SIDE)
        channels, levels = self._counts.shape
        grid = picture[::step, ::step].reshape(-1, channels)
        for channel in range(channels):
            self._counts[channel] += np.bincount(grid[:, channel], minlength=levels)
        self._frames += 1

    def merge(self, other: PixelCounts) -> None:
        """Add another's counts."""
        self._counts += other._counts
        self._frames += other._frames

    def stats(self) -> FeatureStats:
        """The statistics, in the shape (channels, 1, 1)."""
        values = self._values
        total = self._counts.sum(axis=1, keepdims=True)
        mean = (self._counts @ values) / total[:, 0]
        deviation = np.sqrt(np.maximum((self._counts @ values**2) / total[:, 0] - mean**2, 0))
        below = self._counts.cumsum(axis=1)
        found = {
            "min": values[(self._counts > 0).argmax(axis=1)],
            "max": values[-1 - (self._counts[:, ::-1] > 0).argmax(axis=1)],
            "mean": mean,
            "std": deviation,
            **{name: values[(below >= share * total).argmax(axis=1)] for name, share in QUANTILES.items()},
        }
        return {**{name: own.reshape(-1, 1, 1) for name, own in found.items()}, "count": np.array([self._frames])}


def aggregate(parts: Sequence[Stats]) -> dict[str, FeatureStats]:
    """Combine the statistics of several episodes or datasets; all but the quantiles are exact.

    Quantiles are those of the mixture, with each part's distribution interpolated between its own quantiles.
    """
    names = dict.fromkeys(name for part in parts for name in part)
    known = {name: [part[name] for part in parts if name in part] for name in names}
    return {name: _together(own) for name, own in known.items() if all(set(KINDS) <= set(part) for part in own)}


@_huge
def _together(parts: Sequence[FeatureStats]) -> FeatureStats:
    counts = np.array([float(part["count"].reshape(-1)[0]) for part in parts])
    weights = (counts / counts.sum()).reshape(-1, *[1] * np.ndim(parts[0]["mean"]))
    means = np.stack([part["mean"] for part in parts])
    deviations = np.stack([part["std"] for part in parts])
    mean = (means * weights).sum(axis=0)
    deviation = np.sqrt(((deviations**2 + (means - mean) ** 2) * weights).sum(axis=0))
    found = {
        "min": np.min([part["min"] for part in parts], axis=0),
        "max": np.max([part["max"] for part in parts], axis=0),
        "mean": mean,
        "std": deviation,
        "count": np.array([int(counts.sum())]),
    }
    if all(name in part for part in parts for name in QUANTILES):
        found.update(_mixed_quantiles(parts, weights.reshape(-1)))
    return found


def _mixed_quantiles(parts: Sequence[FeatureStats], weights: np.ndarray) -> FeatureStats:
    """Quantiles of the mixture of the parts' distributions, number by number."""
    shares = np.array([0.0, *QUANTILES.values(), 1.0])
    known = np.stack([[part[name] for name in ("min", *QUANTILES, "max")] for part in parts])  # part, share, *shape
    shape = known.shape[2:]
    known = np.maximum.accumulate(known.reshape(len(parts), len(shares), -1), axis=1)
    found = np.empty((len(QUANTILES), known.shape[2]))
    for number in range(known.shape[2]):
        own = known[:, :, number]
        places = np.unique(own)
        steps = sum(weight * _shares_below(part, shares, places) for weight, part in zip(weights, own, strict=True))
        found[:, number] = np.interp(list(QUANTILES.values()), np.ravel(steps), np.repeat(places, 2))
    return dict(zip(QUANTILES, found.reshape(len(QUANTILES), *shape), strict=True))


def _shares_below(part: np.ndarray, shares: np.ndarray, places: np.ndarray) -> np.ndarray:
    """For each place, the share of values below it and up to it; a value that many frames share makes a step."""
    below, up_to = np.searchsorted(part, places, "left"), np.searchsorted(part, places, "right")
    last = len(part) - 1
    before, after = np.clip(up_to - 1, 0, last), np.clip(up_to, 0, last)
    gap = np.where(part[after] > part[before], part[after] - part[before], 1)
    between = shares[before] + (shares[after] - shares[before]) * (places - part[before]) / gap
    between = np.where(up_to == 0, 0.0, np.where(up_to > last, 1.0, between))
    is_known = up_to > below
    left = np.where(is_known, shares[np.clip(below, 0, last)], between)
    right = np.where(is_known, shares[before], between)
    return np.stack([left, right], axis=1)


def with_imagenet(stats: Stats, cameras: Sequence[str]) -> dict[str, FeatureStats]:
    """Statistics with ImageNet's mean and deviation for these cameras."""
    return {**stats, **{name: {**stats.get(name, {}), **IMAGENET} for name in cameras}}


def read_stats(root: Path, frames: int) -> dict[str, FeatureStats]:
    """Read a dataset's `meta/stats.json`, if it has one. Without a count, as in v2.0, they cover all frames."""
    path = root / "meta" / "stats.json"
    try:
        content = read_json(path)
        map_of(map_of(anything))(content, "")
        return stats_from_json({feature: {"count": [frames], **own} for feature, own in content.items()})
    except FileNotFoundError:
        return {}
    except (ValueError, OSError) as error:
        raise DatasetFault(f"{path} is damaged: {error}; `yardarm dataset recompute-stats` writes it again") from error


def stats_from_json(content: Any) -> dict[str, FeatureStats]:
    """Statistics as arrays, or `ValueError` if they are not numbers."""
    map_of(map_of(anything))(content, "")
    return {
        feature: {kind: _numbers(value, f"{feature}.{kind}") for kind, value in own.items()}
        for feature, own in content.items()
    }


def _numbers(value: Any, place: str) -> np.ndarray:
    try:
        array = np.atleast_1d(np.asarray(value))
    except ValueError:
        raise ValueError(f"{place} has lists of different lengths") from None
    if array.dtype.kind not in "biuf" or not array.size:
        raise ValueError(f"{place} must be numbers, got {str(value)[:40]}")
    if place.endswith(".count") and not (np.isfinite(array).all() and (array >= 0).all()):
        raise ValueError(f"{place} must be 0 or more, got {str(value)[:40]}")
    return array


def write_stats(root: Path, stats: Stats) -> None:
    """Replace a dataset's `meta/stats.json`."""
    content = {
        feature: {kind: np.asarray(value).tolist() for kind, value in own.items()} for feature, own in stats.items()
    }
    write_json(root / "meta" / "stats.json", content)
