"""Datasets in LeRobot's format (v3.0): read, written, edited, streamed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yardarm.datasets.draft import EpisodeDraft
from yardarm.datasets.episodes import Episode, VideoPlace
from yardarm.datasets.features import INDEX_FEATURES, DatasetFeature
from yardarm.datasets.info import DatasetInfo
from yardarm.datasets.layout import rollouts_file
from yardarm.datasets.measured import MeasuredTimes, measured_file, read_measured
from yardarm.datasets.metadata import DatasetMetadata, read_metadata
from yardarm.datasets.selection import select_episodes
from yardarm.datasets.source import check_files, default_root, find_dataset, find_metadata
from yardarm.datasets.transforms import ImageTransformConfig, ImageTransformsConfig
from yardarm.datasets.video import VideoEncoding
from yardarm.datasets.writer import DatasetWriter
from yardarm.late import late_names

if TYPE_CHECKING:
    from yardarm.datasets.dataset import LeRobotDataset
    from yardarm.datasets.joined import MultiLeRobotDataset
    from yardarm.datasets.loading import DatasetLoader, from_workers
    from yardarm.datasets.streaming import StreamingLeRobotDataset
    from yardarm.datasets.transforms import ImageTransforms, transform_examples

__all__ = [
    "INDEX_FEATURES",
    "DatasetFeature",
    "DatasetInfo",
    "DatasetLoader",
    "DatasetMetadata",
    "DatasetWriter",
    "Episode",
    "EpisodeDraft",
    "ImageTransformConfig",
    "ImageTransforms",
    "ImageTransformsConfig",
    "LeRobotDataset",
    "MeasuredTimes",
    "MultiLeRobotDataset",
    "StreamingLeRobotDataset",
    "VideoEncoding",
    "VideoPlace",
    "check_files",
    "default_root",
    "find_dataset",
    "find_metadata",
    "from_workers",
    "measured_file",
    "read_measured",
    "read_metadata",
    "rollouts_file",
    "select_episodes",
    "transform_examples",
]

# Reading for training needs torch, which takes a second to import; recording and editing do not need it.
__getattr__ = late_names(
    __name__,
    {
        "DatasetLoader": "loading",
        "ImageTransforms": "transforms",
        "LeRobotDataset": "dataset",
        "MultiLeRobotDataset": "joined",
        "StreamingLeRobotDataset": "streaming",
        "from_workers": "loading",
        "transform_examples": "transforms",
    },
)
