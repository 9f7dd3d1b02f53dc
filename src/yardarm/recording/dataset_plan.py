"""What a dataset is to hold, known before anything is played."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from yardarm.datasets import INDEX_FEATURES, DatasetFeature, DatasetInfo, DatasetWriter, VideoEncoding
from yardarm.envs import select_tasks
from yardarm.errors import UsageError, nearest
from yardarm.recording.config import ALL, STATES, RecordDatasetOptions
from yardarm.recording.labels import PLAYED_ACTION, check_experts
from yardarm.tasks import BenchmarkConfig, Feature, TaskSpec

__all__ = ["DatasetPlan", "plan_dataset", "try_out"]

OUTCOMES = {
    "next.reward": DatasetFeature("float32", (1,)),
    "next.success": DatasetFeature("bool", (1,)),
    "next.done": DatasetFeature("bool", (1,)),
}


@dataclass(frozen=True, slots=True)
class DatasetPlan:
    """A dataset that is to be written: its features, and its tasks as they are looked at."""

    info: DatasetInfo
    encoding: VideoEncoding
    tasks: Mapping[tuple[str, str], TaskSpec]
    """By benchmark and name. Their images have the size that is recorded, whatever the policy was shown."""
    inputs: tuple[str, ...]
    """The observations that are recorded."""
    expert_labels: bool = False
    """Whether the actions are what the expert would have done."""

    @property
    def renders(self) -> bool:
        """Whether any of them is a picture."""
        return bool(self.info.camera_keys)

    def schema(self) -> Mapping[str, DatasetFeature]:
        """All features, as the dataset's `info.json` will describe them."""
        return {**self.encoding.described(self.info.features, self.info.fps), **INDEX_FEATURES}


def plan_dataset(
    options: RecordDatasetOptions, envs: Sequence[BenchmarkConfig], trust_remote_code: bool = False
) -> DatasetPlan:
    """Say what will be recorded of these benchmarks' tasks, or why it cannot be."""
    tasks = select_tasks([_sized(env, options.size) for env in envs], trust_remote_code)
    for task in tasks:
        if not task.env.replayable:
            raise UsageError(
                f"'{task.name}' of {task.benchmark} cannot be recorded: that takes playing episodes again, and its "
                "seed and actions do not give the same episode twice"
            )
    if options.labels:
        check_experts(tasks)
    inputs = _agreed(tasks, options.features)
    if options.size and not any(feature.is_image for feature in inputs.values()):
        raise UsageError(f"--dataset.image_size={options.image_size}: no image is recorded")
    action = DatasetFeature("float32", (tasks[0].env.action.size,), _names(tasks[0].env.action.names))
    info = DatasetInfo(
        fps=tasks[0].fps,
        features={
            **{name: _feature(feature, options.video) for name, feature in inputs.items()},
            "action": action,
            **({PLAYED_ACTION: action} if options.labels else {}),
            **OUTCOMES,
        },
        robot_type="+".join(dict.fromkeys(task.benchmark for task in tasks)),
    )
    try_out(info, options.encoding)
    known = {(task.benchmark, task.name): task for task in tasks}
    return DatasetPlan(info, options.encoding, known, tuple(inputs), bool(options.labels))


def _sized(env: BenchmarkConfig, size: tuple[int, int] | None) -> BenchmarkConfig:
    """The benchmark with images of another size, which changes nothing but the pixels."""
    if size is None:
        return env
    if not hasattr(env, "observation_height"):
        raise UsageError(f"--dataset.image_size: the images of '{env.name}' have one size only")
    changed: Any = {"observation_height": size[0], "observation_width": size[1]}
    return dataclasses.replace(env, **changed)


def _agreed(tasks: Sequence[TaskSpec], asked: str) -> dict[str, Feature]:
    """The chosen observations, which all tasks must offer in the same way."""
    first, inputs = tasks[0], _chosen(tasks[0], asked)
    for task in tasks[1:]:
        if task.fps != first.fps:
            raise UsageError(
                f"'{first.name}' runs at {first.fps} steps a second, '{task.name}' at {task.fps}; a dataset has one "
                "rate: record them separately"
            )
        if _chosen(task, asked) != inputs or task.env.action.size != first.env.action.size:
            raise UsageError(
                f"'{first.name}' and '{task.name}' differ in their observations or actions; a dataset has one set: "
                "record them separately, or name what both have in --dataset.features"
            )
    return inputs


def _chosen(task: TaskSpec, asked: str) -> dict[str, Feature]:
    offered = task.env.features
    if asked == ALL:
        return dict(offered)
    if asked == STATES:
        states = {name: feature for name, feature in offered.items() if not feature.is_image}
        if not states:
            raise UsageError(f"--dataset.features=states: '{task.name}' offers images only")
        return states
    names = list(dict.fromkeys(name.strip() for name in asked.split(",") if name.strip()))
    if not names:
        raise UsageError("--dataset.features is empty; all, states, or names of observations")
    for name in names:
        if name not in offered:
            raise UsageError(
                f"--dataset.features: '{task.name}' does not offer '{name}'{nearest(name, (*offered, ALL, STATES))} "
                f"all, states, or some of {', '.join(offered)}"
            )
    return {name: feature for name, feature in offered.items() if name in names}


def _feature(offered: Feature, video: bool) -> DatasetFeature:
    """Numbers are stored as policies read them, in 32 bits."""
    if offered.is_image:
        return DatasetFeature("video" if video else "image", offered.shape, names=["height", "width", "channel"])
    floating = np.issubdtype(np.dtype(offered.dtype), np.floating)
    return DatasetFeature("float32" if floating else offered.dtype, offered.shape or (1,), _names(offered.names))


def _names(names: Sequence[str]) -> list[str] | None:
    return list(names) or None


def try_out(info: DatasetInfo, encoding: VideoEncoding) -> None:
    """Write a dataset of one black frame, to learn now what a codec or the format refuses."""
    blank = {name: np.zeros(feature.shape, _stored_type(feature)) for name, feature in info.features.items()}
    with (
        tempfile.TemporaryDirectory(prefix="yardarm-") as folder,
        DatasetWriter.create(Path(folder) / "trial", info, encoding) as writer,
    ):
        writer.add_frame({**blank, "task": ""})
        writer.save_episode()


def _stored_type(feature: DatasetFeature) -> Any:
    if feature.is_visual:
        return np.uint16 if feature.is_depth else np.uint8
    return feature.dtype
