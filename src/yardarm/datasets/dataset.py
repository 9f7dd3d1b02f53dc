"""`LeRobotDataset`: a dataset's frames as tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from yardarm.datasets.features import DatasetFeature
from yardarm.datasets.frames import read_frames
from yardarm.datasets.info import DatasetInfo
from yardarm.datasets.items import EpisodeRows, ImageTransform, Item, ItemMaker, as_columns, check_reading
from yardarm.datasets.metadata import read_metadata
from yardarm.datasets.pictures import PictureTable
from yardarm.datasets.selection import select_episodes
from yardarm.datasets.source import default_root, find_dataset
from yardarm.datasets.video import VideoEncoding, VideoReaders
from yardarm.datasets.windows import Windows
from yardarm.datasets.writer import DatasetWriter
from yardarm.errors import UsageError

__all__ = ["TOLERANCE_S", "LeRobotDataset"]

TOLERANCE_S = 1e-4


class LeRobotDataset(torch.utils.data.Dataset):
    """A dataset on disk, read frame by frame.

    Numbers are kept in memory; pictures are decoded when a frame is read. Any number of processes can use it: each
    opens the videos for itself.
    """

    def __init__(
        self,
        repo_id: str = "",
        root: str | Path | None = None,
        *,
        episodes: Sequence[int] | None = None,
        image_transforms: ImageTransform | None = None,
        delta_timestamps: Mapping[str, Sequence[float]] | None = None,
        tolerance_s: float = TOLERANCE_S,
        revision: str | None = None,
        video_backend: str | None = None,
        use_imagenet_stats: bool = False,
        return_uint8: bool = False,
        download_videos: bool = True,
    ) -> None:
        """Open a dataset from `root`, from the cache, or from the Hub.

        `delta_timestamps` asks for more than the current frame of a feature, in seconds from it:
        ``{"action": [0.0, 0.1]}``. Pictures are floats between 0 and 1, or bytes with `return_uint8`.
        """
        check_reading(image_transforms, video_backend)
        folder = find_dataset(repo_id, root, revision, episodes, download_videos)
        self.repo_id = repo_id or folder.name
        self.root = folder
        self.meta = read_metadata(folder)
        self.episodes = select_episodes(episodes, self.meta.total_episodes)
        windows = Windows.of(delta_timestamps, self.meta.fps, tolerance_s, self.meta.readable)
        self._maker = ItemMaker(
            self.meta, windows, VideoReaders(video_backend), tolerance_s, image_transforms, return_uint8
        )
        if use_imagenet_stats:
            self.meta.use_imagenet_stats()
        self._load()

    @classmethod
    def create(
        cls,
        repo_id: str,
        fps: int,
        features: Mapping[str, Mapping[str, Any]],
        root: str | Path | None = None,
        *,
        robot_type: str | None = None,
        use_videos: bool = True,
        encoding: VideoEncoding | None = None,
        chunks_size: int = 1000,
        data_files_size_in_mb: float = 100,
        video_files_size_in_mb: float = 200,
    ) -> DatasetWriter:
        """Start a new dataset: call `add_frame` for each frame, then `save_episode`."""
        schema = {name: DatasetFeature.from_json(feature) for name, feature in features.items()}
        if not use_videos and (videos := [name for name, feature in schema.items() if feature.is_video]):
            raise UsageError(f"use_videos is false, but {', '.join(videos)} has the dtype video; change it to 'image'")
        info = DatasetInfo(
            fps,
            schema,
            robot_type,
            chunks_size=chunks_size,
            data_files_size_in_mb=data_files_size_in_mb,
            video_files_size_in_mb=video_files_size_in_mb,
        )
        return DatasetWriter.create(root or default_root(repo_id), info, encoding)

    @classmethod
    def resume(
        cls, repo_id: str = "", root: str | Path | None = None, *, encoding: VideoEncoding | None = None
    ) -> DatasetWriter:
        """Append to a dataset, after its last complete episode."""
        return DatasetWriter.resume(root or default_root(repo_id), encoding)

    @property
    def fps(self) -> int:
        """Frames per second."""
        return self.meta.fps

    @property
    def features(self) -> dict[str, Any]:
        """Features as LeRobot describes them: dtype, shape, names."""
        return self.meta.features

    @property
    def num_frames(self) -> int:
        """Number of frames in the selected episodes."""
        return len(self)

    @property
    def num_episodes(self) -> int:
        """Number of selected episodes."""
        return len(self.episodes)

    @property
    def episode_bounds(self) -> np.ndarray:
        """The first frame of each selected episode, and finally the number of frames."""
        return self._bounds

    def __len__(self) -> int:
        return int(self._bounds[-1])

    def __repr__(self) -> str:
        return f"LeRobotDataset({self.repo_id!r}, episodes={self.num_episodes}, frames={len(self)}, fps={self.fps})"

    def __getitem__(self, row: int) -> Item:
        if not -len(self) <= row < len(self):
            raise IndexError(f"frame {row} of {len(self)}")
        row = int(row) % len(self)
        place = int(np.searchsorted(self._bounds, row, side="right")) - 1
        span = EpisodeRows(self._chosen[place], int(self._bounds[place]), int(self._bounds[place + 1]))
        return self._maker.make(self._columns, row, span)

    @property
    def has_only_numbers(self) -> bool:
        """Whether items contain only numbers: no pictures and no texts."""
        return self._maker.has_only_numbers

    def __getitems__(self, rows: Sequence[int]) -> Item | list[Item]:
        """Many frames at once: a batch if items contain only numbers, otherwise a list."""
        if not self.has_only_numbers:
            return [self[row] for row in rows]
        chosen = np.asarray(rows)
        places = np.searchsorted(self._bounds, chosen, side="right") - 1
        return self._maker.make_many(self._columns, chosen, self._bounds[places], self._bounds[places + 1])

    def _load(self) -> None:
        self._chosen = [self.meta.episodes[number] for number in self.episodes]
        self._bounds = np.concatenate([[0], np.cumsum([episode.length for episode in self._chosen])])
        tables = {key: PictureTable(self.meta, self._chosen, key) for key in self.meta.info.image_keys}
        self._columns: dict[str, Any] = {**as_columns(read_frames(self.meta, self._chosen)), **tables}
