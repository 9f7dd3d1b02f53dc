"""Edits that keep all episodes: features, instructions, statistics, videos, and the format's version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from yardarm.datasets.editing.edit import open_dataset, write_edited
from yardarm.datasets.editing.recipe import OnProgress, Recipe, new_info, pick_episodes
from yardarm.datasets.features import INDEX_FEATURES, DatasetFeature, check_features, check_numbers
from yardarm.datasets.metadata import DatasetMetadata
from yardarm.datasets.v2 import is_v2
from yardarm.datasets.video import VideoEncoding, video_info
from yardarm.errors import UsageError, nearest

__all__ = [
    "add_feature",
    "convert_dataset",
    "recompute_stats",
    "reencode_videos",
    "remove_features",
    "rename_task",
    "rename_tasks",
]


def add_feature(
    root: Path,
    name: str,
    feature: DatasetFeature,
    values: Any,
    output: Path | None,
    on_progress: OnProgress | None = None,
) -> DatasetMetadata:
    """Add a feature: an array with one row per frame, or one value for all frames."""
    meta = open_dataset(root, output)
    known = meta.info.features
    check_features({name: feature})
    if name in known:
        raise UsageError(f"{root} already has a feature '{name}'; remove it first, or choose another name")
    if feature.is_visual:
        raise UsageError(f"'{name}' has the dtype {feature.dtype}; pictures can be recorded, but not added later")
    column = _column(name, feature, values, meta.total_frames)
    own = {other: known[other] for other in known if other not in INDEX_FEATURES}
    index = {other: known[other] for other in known if other in INDEX_FEATURES}
    info = new_info(meta.info, {**own, name: feature, **index})
    return write_edited(meta, Recipe(info, pick_episodes(meta), added={name: column}), output, on_progress)


def _column(name: str, feature: DatasetFeature, values: Any, frames: int) -> np.ndarray:
    """One row per frame, without copying: the array may be a memory-mapped file."""
    array = np.asarray(values)
    if feature.dtype == "string":
        if array.dtype.kind not in "UOS":
            raise UsageError(f"'{name}' must be strings, got {array.dtype}")
    else:
        check_numbers(name, feature, array)
    single = ((), (1,)) if feature.is_scalar else (feature.shape,)
    shape = () if feature.is_scalar else feature.shape
    if array.shape in single:
        return np.broadcast_to(array.reshape(shape), (frames, *shape))
    if array.shape[1:] in single and len(array) == frames:
        return array.reshape(frames, *shape)
    raise UsageError(
        f"'{name}' must have a row of the shape {feature.shape} for each of {frames} frames, got {array.shape}"
    )


def remove_features(
    root: Path, names: Sequence[str], output: Path | None, on_progress: OnProgress | None = None
) -> DatasetMetadata:
    """Write a dataset without these features; a camera's videos are removed with it."""
    meta = open_dataset(root, output)
    known = meta.info.features
    own = [name for name in known if name not in INDEX_FEATURES]
    if not names:
        raise UsageError("--names is empty; give at least one feature")
    for name in names:
        if name in INDEX_FEATURES:
            raise UsageError(f"'{name}' belongs to every dataset and cannot be removed")
        if name not in known:
            raise UsageError(f"{root} has no feature '{name}'{nearest(name, own)} it has {', '.join(own)}")
    left = {name: feature for name, feature in known.items() if name not in names}
    if not set(left) - set(INDEX_FEATURES):
        raise UsageError(f"--names names all features of {root}; nothing would be left")
    return write_edited(meta, Recipe(new_info(meta.info, left), pick_episodes(meta)), output, on_progress)


def rename_task(
    root: Path, old: str, new: str, output: Path | None, on_progress: OnProgress | None = None
) -> DatasetMetadata:
    """Reword an instruction; if another instruction already has these words, the two become one."""
    return rename_tasks(root, {old: new}, output, on_progress)


def rename_tasks(
    root: Path, words: Mapping[str, str], output: Path | None, on_progress: OnProgress | None = None
) -> DatasetMetadata:
    """Reword several instructions at once, by their old words."""
    meta = open_dataset(root, output)
    for old, new in words.items():
        if old not in meta.tasks:
            listed = ", ".join(f"'{task}'" for task in meta.tasks[:20]) or "none"
            raise UsageError(f"{root} has no task '{old}'{nearest(old, meta.tasks)} it has {listed}")
        if not new.strip() or new == old:
            raise UsageError(f"the new task must not be empty or the same as '{old}', got '{new}'")
    return write_edited(meta, Recipe(new_info(meta.info), pick_episodes(meta), renamed=words), output, on_progress)


def recompute_stats(
    root: Path, output: Path | None, every: int = 1, on_progress: OnProgress | None = None
) -> DatasetMetadata:
    """Compute exact statistics of all frames and of each episode; of pictures, use only every n-th if asked."""
    meta = open_dataset(root, output)
    if every < 1:
        raise UsageError(f"--every must be at least 1, got {every}")
    return write_edited(meta, Recipe(new_info(meta.info), pick_episodes(meta), count_every=every), output, on_progress)


def reencode_videos(
    root: Path, encoding: VideoEncoding, output: Path | None, on_progress: OnProgress | None = None
) -> DatasetMetadata:
    """Encode all videos again, on all cores; depth maps are left unchanged."""
    meta = open_dataset(root, output)
    features = dict(meta.info.features)
    encoded = [name for name in meta.video_keys if not features[name].is_depth]
    if not encoded:
        raise UsageError(f"{root} has no videos to encode")
    for name in encoded:
        encoding.check_size(name, *features[name].size)
        features[name] = features[name].with_info(encoding.describe(meta.fps, *features[name].size))
    return write_edited(
        meta, Recipe(new_info(meta.info, features), pick_episodes(meta), encoding=encoding), output, on_progress
    )


def convert_dataset(root: Path, output: Path | None, on_progress: OnProgress | None = None) -> DatasetMetadata:
    """Convert a dataset of version 2.1 or 2.0 to 3.0; videos are copied, not encoded again."""
    meta = open_dataset(root, output)
    if not is_v2(meta.info):
        raise UsageError(f"{root} already has version {meta.info.codebase_version}; there is nothing to convert")
    picks = pick_episodes(meta)
    features = {
        name: feature.with_info(video_info(meta.video_file(meta.episodes[0], name)))
        if feature.is_video and not feature.info
        else feature
        for name, feature in meta.info.features.items()
    }
    return write_edited(meta, Recipe(new_info(meta.info, features), picks), output, on_progress)
