"""The operations of ``lerobot-edit-dataset``: options with LeRobot's names, and the edits that they stand for here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from yardarm.config import option
from yardarm.datasets import VideoEncoding, read_metadata
from yardarm.datasets.editing import (
    OnProgress,
    delete_episodes,
    edit_episodes,
    recompute_stats,
    reencode_videos,
    remove_features,
    rename_tasks,
)
from yardarm.datasets.review import EpisodeEdits
from yardarm.errors import UsageError

__all__ = ["OPERATIONS", "Info", "Merge", "Operation", "Split", "given"]

USUAL = VideoEncoding()


class Operation(Protocol):
    """An edit of one dataset."""

    suffix: ClassVar[str]
    """What is added to the name of the dataset if no other name is given; nothing: it is edited in place."""

    def write(self, source: Path, output: Path, show: OnProgress) -> object:
        """Write the edited dataset."""


@dataclass
class DeleteEpisodes:
    """Deletes episodes."""

    suffix: ClassVar[str] = ""
    episode_indices: list[int] | None = option(None, "the episodes to delete, like [0,2,5]")

    def write(self, source: Path, output: Path, show: OnProgress) -> object:
        """Write the dataset without them."""
        return delete_episodes(source, given("episode_indices", self.episode_indices), output, show)


@dataclass
class RemoveFeature:
    """Removes features or cameras."""

    suffix: ClassVar[str] = ""
    feature_names: list[str] | None = option(None, "the features to remove, like [observation.images.top]")

    def write(self, source: Path, output: Path, show: OnProgress) -> object:
        """Write the dataset without them."""
        return remove_features(source, given("feature_names", self.feature_names), output, show)


@dataclass
class ModifyTasks:
    """Rewords instructions."""

    suffix: ClassVar[str] = ""
    new_task: str | None = option(None, "the instruction of all episodes, apart from those of task_replacements")
    task_replacements: dict[str, str] | None = option(None, 'instructions and their new words: {"old": "new"}')
    episode_tasks: dict[int, str] | None = option(None, 'instructions of single episodes: {"0": "pick"}')

    def write(self, source: Path, output: Path, show: OnProgress) -> object:
        """Write the dataset with the new words."""
        if self.episode_tasks:
            return self._relabel(source, output, show)
        words = dict(self.task_replacements or {})
        if self.new_task is not None:
            known = [task for task in read_metadata(source).tasks if task != self.new_task]
            words = {**dict.fromkeys(known, self.new_task), **words}
        if not words:
            raise UsageError("nothing to reword: give --operation.new_task or --operation.task_replacements")
        return rename_tasks(source, words, output, show)

    def _relabel(self, source: Path, output: Path, show: OnProgress) -> object:
        if self.task_replacements:
            raise UsageError("--operation.episode_tasks and --operation.task_replacements cannot be combined; give one")
        episodes = range(read_metadata(source).total_episodes)
        others = dict.fromkeys(episodes, self.new_task) if self.new_task is not None else {}
        return edit_episodes(source, EpisodeEdits(relabelled={**others, **(self.episode_tasks or {})}), output, show)


@dataclass
class RecomputeStats:
    """Computes the statistics again, from all frames and pictures."""

    suffix: ClassVar[str] = "_recomputed_stats"
    overwrite: bool = option(False, "allow editing in place")

    def write(self, source: Path, output: Path, show: OnProgress) -> object:
        """Write the dataset with exact statistics."""
        return recompute_stats(source, output, on_progress=show)


@dataclass
class ReencodeVideos:
    """Encodes all videos again; the options are those of LeRobot's ``rgb_encoder``."""

    suffix: ClassVar[str] = "_reencoded"
    vcodec: str = option(USUAL.vcodec, "libsvtav1, h264 or hevc")
    pix_fmt: str = option(USUAL.pix_fmt, "yuv420p or yuv444p")
    g: int = option(USUAL.g, "frames between key frames")
    crf: int = option(USUAL.crf, "quality: 0 is the best, with the largest files")
    preset: str = option(USUAL.preset, "the codec's preset")
    extra_options: dict[str, Any] = field(
        default_factory=dict, metadata={"help": "more options for the codec, as a JSON object"}
    )
    overwrite: bool = option(False, "allow editing in place")

    def write(self, source: Path, output: Path, show: OnProgress) -> object:
        """Write the dataset with new videos."""
        extra = {name: str(value) for name, value in self.extra_options.items()}
        encoding = VideoEncoding(self.vcodec, self.pix_fmt, self.g, self.crf, self.preset, extra)
        return reencode_videos(source, encoding, output, show)


@dataclass
class Split:
    """Splits a dataset into several."""

    splits: dict[str, Any] | None = option(None, 'names and shares, {"train": 0.8, "val": 0.2}, or lists of episodes')


@dataclass
class Merge:
    """Concatenates datasets."""

    repo_ids: list[str] | None = option(None, "the datasets, like [me/a,me/b]")
    roots: list[Path] | None = option(None, "their folders, in the same order [$HF_LEROBOT_HOME/owner/name]")


@dataclass
class Info:
    """Shows what a dataset contains."""


OPERATIONS: Mapping[str, type] = {
    "delete_episodes": DeleteEpisodes,
    "split": Split,
    "merge": Merge,
    "remove_feature": RemoveFeature,
    "modify_tasks": ModifyTasks,
    "recompute_stats": RecomputeStats,
    "reencode_videos": ReencodeVideos,
    "info": Info,
}


def given(name: str, value: Any) -> Any:
    """The value of an option that must be given."""
    if not value:
        raise UsageError(f"--operation.{name} is missing")
    return value
