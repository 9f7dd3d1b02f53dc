"""A dataset's description, read without its frames."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from yardarm.datasets.episodes import Episode, read_episode_stats, read_episodes
from yardarm.datasets.features import Schema, schema_to_json
from yardarm.datasets.info import VERSION, DatasetInfo, read_info
from yardarm.datasets.layout import data_file, video_file
from yardarm.datasets.statistics import FeatureStats, aggregate, read_stats, with_imagenet
from yardarm.datasets.tasks import read_tasks
from yardarm.errors import UsageError

__all__ = ["DatasetMetadata", "read_metadata"]

log = logging.getLogger(__name__)


@dataclass
class DatasetMetadata:
    """A dataset's description: features, totals, tasks, episodes, statistics."""

    root: Path
    info: DatasetInfo
    tasks: tuple[str, ...] = ()
    episodes: tuple[Episode, ...] = ()
    stats: dict[str, FeatureStats] = field(default_factory=dict)

    @property
    def fps(self) -> int:
        """Frames per second."""
        return self.info.fps

    @property
    def features(self) -> dict[str, Any]:
        """Features as LeRobot describes them: dtype, shape, names."""
        return schema_to_json(self.info.features)

    @cached_property
    def readable(self) -> Schema:
        """The features that items contain."""
        features = self.info.features
        if left_out := [name for name, feature in features.items() if not feature.is_readable]:
            log.warning("%s: ignoring %s, since such features cannot be read yet", self.root, ", ".join(left_out))
        return {name: feature for name, feature in features.items() if feature.is_readable}

    @property
    def robot_type(self) -> str | None:
        """The robot that was recorded."""
        return self.info.robot_type

    @property
    def total_episodes(self) -> int:
        """Number of episodes."""
        return self.info.total_episodes

    @property
    def total_frames(self) -> int:
        """Number of frames."""
        return self.info.total_frames

    @property
    def total_tasks(self) -> int:
        """Number of different instructions."""
        return self.info.total_tasks

    @property
    def camera_keys(self) -> list[str]:
        """All pictures."""
        return list(self.info.camera_keys)

    @property
    def video_keys(self) -> list[str]:
        """Pictures stored in video files."""
        return list(self.info.video_keys)

    @property
    def image_keys(self) -> list[str]:
        """Pictures stored in the table."""
        return list(self.info.image_keys)

    def use_imagenet_stats(self) -> None:
        """Normalise pictures as networks trained on ImageNet expect."""
        colored = [key for key in self.info.camera_keys if not self.info.features[key].is_depth]
        self.stats = with_imagenet(self.stats, colored)

    def get_task_index(self, task: str) -> int | None:
        """An instruction's number."""
        return self.tasks.index(task) if task in self.tasks else None

    def data_file(self, episode: Episode) -> Path:
        """The file that holds an episode's frames."""
        return data_file(self.root, self.info, episode.data)

    def video_file(self, episode: Episode, key: str) -> Path:
        """The file that holds an episode's video."""
        return video_file(self.root, self.info, key, episode.videos[key].slot)


def read_metadata(root: Path) -> DatasetMetadata:
    """Read a dataset's `meta` folder."""
    info = read_info(root)
    if info.codebase_version.startswith("v2."):
        from yardarm.datasets.v2 import read_v2_metadata

        return read_v2_metadata(root)
    if not info.codebase_version.startswith("v3."):
        raise UsageError(
            f"{root} is a dataset of version {info.codebase_version}; only {VERSION} and v2.1 can be read "
            "(LeRobot converts older ones)"
        )
    tasks = read_tasks(root) if info.total_tasks else ()
    return DatasetMetadata(root, info, tasks, read_episodes(root, info), _stats(root, info))


def _stats(root: Path, info: DatasetInfo) -> dict[str, FeatureStats]:
    """The dataset's statistics, computed again if a killed writer counted an episode that was never saved."""
    stats = read_stats(root, info.total_frames)
    if "index" in stats and int(stats["index"]["count"].reshape(-1)[0]) > info.total_frames:
        return aggregate([own for _, own in sorted(read_episode_stats(root, info), key=lambda pair: pair[0])])
    return stats
