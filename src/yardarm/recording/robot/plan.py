"""What a recording will write, and where; what cannot be done is refused before an arm is connected."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from yardarm.datasets import INDEX_FEATURES, DatasetInfo, read_metadata
from yardarm.errors import UsageError
from yardarm.recording.config import Target
from yardarm.recording.dataset_plan import try_out
from yardarm.recording.hub import check_hub
from yardarm.recording.robot.dataset_info import robot_dataset_info
from yardarm.recording.robot.job import EncoderJob
from yardarm.recording.robot.options import RobotDatasetOptions
from yardarm.recording.robot.spool import PIECE
from yardarm.recording.robot.tick_layout import TickLayout
from yardarm.robots import Robot

__all__ = ["RobotRecordingPlan", "plan_robot_recording"]

# There must be space for so many ticks that are not a piece of a video yet, and for the dataset itself.
SPACE_TICKS = PIECE + 64
SPACE = 16 * 2**20


@dataclass(frozen=True, slots=True)
class RobotRecordingPlan:
    """A dataset that is to grow, and by what."""

    target: Target
    job: EncoderJob
    options: RobotDatasetOptions
    before: int
    """How many episodes it has already."""


def plan_robot_recording(robot: Robot, options: RobotDatasetOptions, resume: bool) -> RobotRecordingPlan:
    """Say what will be recorded of a robot, or why it cannot be."""
    target = options.target(resume)
    info = robot_dataset_info(robot, options.fps, options.video)
    layout = TickLayout.of(robot)
    if resume:
        before = _check_same(target, options, info)
    else:
        before = 0
        resume = _is_empty_dataset(target.root, info, options)  # a recording that was stopped before its first episode
    for name in info.video_keys:
        options.encoding.check_size(name, *info.features[name].size)
    try_out(info, options.encoding)
    _check_space(target.root, SPACE + SPACE_TICKS * layout.size)
    check_hub(target)
    job = EncoderJob(target.root, info, options.encoding, layout, options.single_task.strip(), resume)
    return RobotRecordingPlan(target, job, options, before)


def _check_same(target: Target, options: RobotDatasetOptions, info: DatasetInfo) -> int:
    """Refuse to append what does not fit; return how many episodes there are."""
    root = target.root
    if not (root / "meta" / "info.json").exists():
        raise UsageError(f"--resume=true: there is no dataset {root}{_alike(root, options)}")
    meta = read_metadata(root)
    if meta.info.robot_type != info.robot_type:
        raise UsageError(f"{root} was recorded on '{meta.info.robot_type}', not on '{info.robot_type}'; record anew")
    if meta.fps != info.fps:
        raise UsageError(f"{root} has {meta.fps} frames per second; add --dataset.fps={meta.fps}")
    if different := _difference(meta.info, info):
        raise UsageError(f"{root} cannot be continued: {different}; record anew under another name")
    if encoded := _other_encoding(meta.info, options):
        # Readers decode each file as it is, but LeRobot joins files without looking, and `info.json` has one codec.
        raise UsageError(f"the videos of {root} are encoded in another way; add {encoded}, or record anew")
    return meta.total_episodes


def _difference(there: DatasetInfo, wanted: DatasetInfo) -> str:
    """What differs in the features of two datasets, but for how their videos are encoded."""
    own = {name: replace(feature, info={}) for name, feature in there.features.items() if name not in INDEX_FEATURES}
    new = {name: replace(feature, info={}) for name, feature in wanted.features.items()}
    for name in {**own, **new}:
        if name not in new:
            return f"it has '{name}', which this robot does not give"
        if name not in own:
            return f"it lacks '{name}', which this robot gives"
        one, other = own[name], new[name]
        if (one.dtype, one.shape, one.names) != (other.dtype, other.shape, other.names):
            return f"'{name}' is {one.dtype} {list(one.shape)} there, and {other.dtype} {list(other.shape)} here"
    return ""


def _other_encoding(there: DatasetInfo, options: RobotDatasetOptions) -> str:
    """The flags with which a dataset's videos were encoded, where they are others."""
    flags = {
        f"--dataset.{name}={value}"
        for key in there.video_keys
        for name, value in options.encoding.differing(there.features[key].info).items()
    }
    return " ".join(sorted(flags))


def _alike(root: Path, options: RobotDatasetOptions) -> str:
    """Datasets of the same name with a date and time, which may be meant."""
    if options.root is not None or not root.parent.is_dir():
        return "; omit --resume to begin one"
    found = sorted(path.name for path in root.parent.glob(f"{root.name}_*") if (path / "meta" / "info.json").exists())
    owner = root.parent.name
    return f"; there is {owner}/{found[-1]}" if found else "; omit --resume to begin one"


def _is_empty_dataset(root: Path, info: DatasetInfo, options: RobotDatasetOptions) -> bool:
    if not root.exists() or (root.is_dir() and not any(root.iterdir())):
        return False
    if not (root / "meta" / "info.json").exists():
        raise UsageError(f"{root} is a file, or a folder with something else in it; choose another name")
    meta = read_metadata(root)
    if count := meta.total_episodes:
        raise UsageError(
            f"{root} has {count} episode{'' if count == 1 else 's'} already; add --resume=true to append, or choose "
            "another name"
        )
    if _difference(meta.info, info) or (meta.fps, meta.info.robot_type) != (info.fps, info.robot_type):
        raise UsageError(f"{root} is an empty dataset for another robot, rate or cameras; choose another name")
    if encoded := _other_encoding(meta.info, options):
        raise UsageError(f"{root} is an empty dataset with another encoding; add {encoded}, or choose another name")
    return True


def _check_space(root: Path, needed: int) -> None:
    there = next(folder for folder in (root, *root.parents) if folder.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        why = "is not writable" if there.is_dir() else "is a file"
        raise UsageError(f"{root} cannot be made: {there} {why}; choose another folder with --dataset.root=…")
    free = shutil.disk_usage(there).free
    if free < needed:
        raise UsageError(
            f"{there} has {free / 1e6:.0f} MB left; recording needs at least {needed / 1e6:.0f} MB: free some space, "
            "or choose another disk with --dataset.root=…"
        )
