"""The data of the dataset pages."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np

from yardarm.datasets import (
    INDEX_FEATURES,
    DatasetFeature,
    DatasetInfo,
    DatasetMetadata,
    Episode,
    read_measured,
)
from yardarm.datasets.browsing import (
    damaged_files,
    dimension_names,
    per_episode,
    read_frames,
    size_on_disk,
    video_facts,
)
from yardarm.errors import DatasetFault, UsageError
from yardarm.pages.run_data import rounded

__all__ = ["dataset_data", "dataset_episode_data", "dataset_facts"]

STATISTICS = ("min", "q01", "q10", "q50", "q90", "q99", "max", "mean", "std")
SUCCESS, REWARD = "next.success", "next.reward"
# More lines cannot be distinguished on a page.
MOST_LINES = 64
MOST_DIMENSIONS = 256
# A plot is about 600 points wide; an episode of two minutes is drawn in full.
MOST_POINTS = 4000
# Outcomes that are missing from the statistics are counted frame by frame, up to this many frames.
MOST_COUNTED_FRAMES = 300_000


def dataset_facts(name: str, info: DatasetInfo) -> dict[str, Any]:
    """The facts in `info.json`."""
    return {
        "name": name,
        "robot": info.robot_type,
        "version": info.codebase_version,
        "fps": info.fps,
        "episodes": info.total_episodes,
        "frames": info.total_frames,
        "tasks": info.total_tasks,
        "seconds": rounded(info.total_frames / info.fps),
        "cameras": [_short(key) for key in info.camera_keys],
    }


def dataset_data(meta: DatasetMetadata, name: str) -> dict[str, Any]:
    """Everything the page of a dataset shows."""
    sizes = size_on_disk(meta.root)
    tasks = _tasks(meta)
    return {
        **dataset_facts(name, meta.info),
        "path": str(meta.root),
        "bytes": {"all": sum(sizes.values()), **sizes},
        "tasks": tasks,
        "lists": _episode_columns(meta, tasks),
        "features": [_feature(key, feature) for key, feature in meta.info.features.items()],
        "pictures": [_camera(key, feature) for key, feature in meta.info.features.items() if feature.is_visual],
        "statistics": _statistics(meta),
        "damage": damaged_files(meta),
    }


def _tasks(meta: DatasetMetadata) -> list[str]:
    """The instructions in order, followed by any that only the episodes name."""
    return list(dict.fromkeys([*meta.tasks, *(task for episode in meta.episodes for task in episode.tasks)]))


def _episode_columns(meta: DatasetMetadata, tasks: Sequence[str]) -> dict[str, Any]:
    """Episodes by column, because there may be many thousands; they are numbered from 0."""
    number = {task: place for place, task in enumerate(tasks)}
    success = _success(meta)
    means = per_episode(meta, REWARD, "mean") if REWARD in meta.info.features else None
    lengths = [episode.length for episode in meta.episodes]
    return {
        "tasks": [[number[task] for task in episode.tasks] for episode in meta.episodes],
        "length": lengths,
        "outcome": None if success is None else "".join("s" if good else "f" for good in success),
        "reward": None if means is None else [rounded(total) for total in means * lengths],
    }


def _success(meta: DatasetMetadata) -> np.ndarray | None:
    """Whether each episode has a successful frame; None if the dataset does not say."""
    if SUCCESS not in meta.info.features or not meta.episodes:
        return None
    most = per_episode(meta, SUCCESS, "max")
    if most is not None:
        return most > 0
    if meta.total_frames > MOST_COUNTED_FRAMES:
        return None
    try:
        frames = read_frames(meta, meta.episodes, [SUCCESS])[SUCCESS]
    except UsageError:
        return None  # the file is listed as damaged
    return np.maximum.reduceat(frames, [episode.start for episode in meta.episodes]) > 0


def _feature(key: str, feature: DatasetFeature) -> dict[str, Any]:
    return {
        "name": key,
        "dtype": feature.dtype,
        "shape": list(feature.shape),
        "names": None if feature.is_visual or feature.names is None else dimension_names(feature),
        "filled_in": key in INDEX_FEATURES,
    }


def _camera(key: str, feature: DatasetFeature) -> dict[str, Any]:
    """A camera as described in `info.json`; older datasets prefix the fields of videos."""
    height, width = feature.size if len(feature.shape) == 3 else (None, None)
    return {
        "key": key,
        "name": _short(key),
        "kind": feature.dtype,
        "height": height,
        "width": width,
        "codec": feature.info.get("video.codec") or feature.info.get("codec"),
        "pix_fmt": feature.info.get("video.pix_fmt") or feature.info.get("pix_fmt"),
        "depth": feature.is_depth,
    }


def _short(key: str) -> str:
    return key.removeprefix("observation.").removeprefix("images.")


def _statistics(meta: DatasetMetadata) -> list[dict[str, Any]]:
    """The statistics of each feature, by dimension; without quantiles if the dataset has none."""
    rows = []
    for key, feature in meta.info.features.items():
        own = meta.stats.get(key)
        if own is None or key in INDEX_FEATURES:
            continue
        known = {kind: np.ravel(own[kind]) for kind in STATISTICS if kind in own}
        size = max((len(values) for values in known.values()), default=0)
        if size == 0 or any(len(values) != size or values.dtype.kind not in "biuf" for values in known.values()):
            continue
        names = dimension_names(feature)
        rows.append(
            {
                "feature": key,
                "names": (names if len(names) == size else [f"[{place}]" for place in range(size)])[:MOST_DIMENSIONS],
                "dimensions": size,
                **{kind: [rounded(value) for value in values[:MOST_DIMENSIONS]] for kind, values in known.items()},
            }
        )
    return rows


def dataset_episode_data(meta: DatasetMetadata, episode: Episode) -> dict[str, Any]:
    """An episode frame by frame, and where its pictures are; or the problem, if it cannot be read."""
    content: dict[str, Any] = {
        "index": episode.index,
        "steps": episode.length,
        "fps": meta.fps,
        "robot": meta.robot_type,
        "tasks": list(episode.tasks),
        "file": str(meta.data_file(episode).relative_to(meta.root)),
        "cameras": [_place(meta, episode, key) for key in meta.camera_keys],
        "neighbours": {
            "previous": episode.index - 1 if episode.index else None,
            "next": episode.index + 1 if episode.index + 1 < meta.total_episodes else None,
        },
    }
    try:
        return content | _frames(meta, episode)
    except UsageError as error:
        return content | {"numbers": [], "texts": [], "outcome": None, "reward": None, "problem": str(error)}


def _place(meta: DatasetMetadata, episode: Episode, key: str) -> dict[str, Any]:
    """Where a camera's pictures of an episode are: a part of a video file, or the table."""
    camera = _camera(key, meta.info.features[key])
    if camera["kind"] == "image":
        return camera
    place, path = episode.videos[key], meta.video_file(episode, key)
    camera |= {"from": place.start_s, "to": place.end_s, "file": str(path.relative_to(meta.root))}
    try:
        facts = video_facts(path)
    except UsageError as error:
        return camera | {"problem": str(error)}
    camera |= {"codec": facts.codec, "width": facts.width, "height": facts.height}
    if facts.seconds is not None and facts.seconds < place.end_s - 1.5 / meta.fps:
        camera["cut_short"] = (
            f"{path} ends at {facts.seconds:.2f} s, but this episode at {place.end_s:.2f} s: the video is cut short"
        )
    return camera


def _frames(meta: DatasetMetadata, episode: Episode) -> dict[str, Any]:
    features = meta.info.features
    numbers = [key for key, feature in features.items() if feature.is_numeric and key not in INDEX_FEATURES]
    texts = [key for key, feature in features.items() if feature.dtype == "string"]
    known = [key for key in ("task_index",) if key in features]
    columns = read_frames(meta, [episode], [*numbers, *texts, *known])
    changing = len(episode.tasks) > 1 and "task_index" in columns
    shown_texts = {"task": _task_texts(meta, columns["task_index"])} if changing else {}
    shown_texts |= {key: [str(text) for text in columns[key]] for key in texts}
    outcome = ("s" if columns[SUCCESS].any() else "f") if SUCCESS in columns else None
    return {
        "numbers": [
            *(_lines(key, dimension_names(features[key]), columns[key]) for key in numbers),
            *_measured(meta, episode),
        ],
        "texts": [{"name": key, "runs": _runs(words)} for key, words in shown_texts.items()],
        "outcome": outcome,
        "reward": rounded(columns[REWARD].sum()) if REWARD in columns else None,
    }


def _task_texts(meta: DatasetMetadata, numbers: np.ndarray) -> list[str]:
    return [meta.tasks[number] if 0 <= number < len(meta.tasks) else f"task {number}" for number in numbers]


def _runs(words: Sequence[str]) -> list[tuple[int, str]]:
    """The frames at which a text changes, and the text from there on."""
    return [(step, word) for step, word in enumerate(words) if step == 0 or word != words[step - 1]]


def _measured(meta: DatasetMetadata, episode: Episode) -> list[dict[str, Any]]:
    """What a robot's loop measured beside the frames: the action that was asked for, and how well it kept its time."""
    try:
        measured = read_measured(meta.root, episode.index)
    except DatasetFault:
        return []  # The checks say so.
    if measured is None or len(measured) != episode.length:
        return []
    period_errors = np.diff(measured.began_s) - np.diff(measured.tick) / meta.fps
    times = {
        "turn began late by": measured.began_s - measured.due_s,
        "period's error": np.concatenate([[0.0], period_errors]),
        **{f"age of {name}'s picture": measured.joints_s - taken for name, taken in measured.captured_s.items()},
    }
    return [
        _lines("action asked for", measured.asked_names, measured.asked),
        _lines("timing, ms", list(times), 1000 * np.stack(list(times.values()), axis=1)),
    ]


def _lines(key: str, names: Sequence[str], values: np.ndarray) -> dict[str, Any]:
    """Numbers over time: a list per dimension, of every `every`-th frame."""
    every = max(1, -(-len(values) // MOST_POINTS))
    columns = values.reshape(len(values), -1)[::every].astype(np.float64).T
    return {
        "name": key,
        "names": list(names[:MOST_LINES]),
        "dimensions": len(columns),
        "every": every,
        "values": [[rounded(value) for value in column] for column in islice(columns, MOST_LINES)],
    }
