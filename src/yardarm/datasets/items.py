"""Turns frames into training items: numbers, pictures, and windows of time around the frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from yardarm.datasets.episodes import Episode
from yardarm.datasets.metadata import DatasetMetadata
from yardarm.datasets.video import VideoReaders, check_backend
from yardarm.datasets.windows import Windows
from yardarm.errors import DatasetFault, UsageError

__all__ = ["EpisodeRows", "ImageTransform", "Item", "ItemMaker", "as_columns", "check_reading"]

Item = dict[str, Any]
ImageTransform = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True, slots=True)
class EpisodeRows:
    """An episode, and which rows of the columns are its frames."""

    episode: Episode
    start: int
    stop: int


@dataclass(frozen=True)
class ItemMaker:
    """Makes items of a dataset's frames.

    Columns are tensors, lists of strings, or, for pictures in the table, objects that decode them: `at(rows)`.
    """

    meta: DatasetMetadata
    windows: Windows
    videos: VideoReaders
    tolerance_s: float
    image_transforms: ImageTransform | None = None
    return_uint8: bool = False

    def make(self, columns: Mapping[str, Any], row: int, span: EpisodeRows) -> Item:
        """The item of one row; a window's frames beyond the episode are marked as padding."""
        item: Item = {}
        padding: Item = {}
        for name, feature in self.meta.readable.items():
            rows = None
            if name in self.windows.steps:
                rows, beyond = self.windows.around(name, row, span.start, span.stop)
                padding[f"{name}_is_pad"] = torch.from_numpy(beyond)
            if feature.is_visual:
                item[name] = self._pictures(name, columns, row, rows, span)
            elif feature.is_numeric:
                item[name] = columns[name][row if rows is None else torch.from_numpy(rows)]
            else:
                item[name] = columns[name][row] if rows is None else [columns[name][at] for at in rows]
        return {**item, **padding, "task": self._task(columns, row, span)}

    @property
    def has_only_numbers(self) -> bool:
        """Whether items contain only numbers, apart from the task."""
        return all(feature.is_numeric for feature in self.meta.readable.values())

    def make_many(self, columns: Mapping[str, Any], rows: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> Item:
        """The items of many rows as one batch, if they contain only numbers: much faster than one by one.

        `starts` and `stops` are the bounds of each row's episode.
        """
        batch: Item = {}
        padding: Item = {}
        for name in self.meta.readable:
            wanted = rows
            if name in self.windows.steps:
                wanted, beyond = self.windows.around(name, rows[:, None], starts[:, None], stops[:, None])
                padding[f"{name}_is_pad"] = torch.from_numpy(beyond)
            batch[name] = columns[name][torch.from_numpy(wanted)]
        numbers = batch["task_index"].tolist()
        return {**batch, **padding, "task": [self.meta.tasks[number] for number in numbers]}

    def _task(self, columns: Mapping[str, Any], row: int, span: EpisodeRows) -> str:
        number = int(columns["task_index"][row])
        if not 0 <= number < len(self.meta.tasks):
            raise DatasetFault(
                f"{self.meta.data_file(span.episode)}: a frame of episode {span.episode.index} has the task {number}, "
                f"but meta/tasks.parquet has {len(self.meta.tasks)}"
            )
        return self.meta.tasks[number]

    def _seconds(self, columns: Mapping[str, Any], rows: np.ndarray) -> np.ndarray:
        """When frames are shown. Stored times have 24 bits, too few for the tolerance after half an hour."""
        stored = columns["timestamp"][rows].numpy()
        exact = columns["frame_index"][rows].numpy() / self.meta.fps
        return np.where(exact.astype(stored.dtype) == stored, exact, stored)

    def _pictures(
        self, name: str, columns: Mapping[str, Any], row: int, rows: np.ndarray | None, span: EpisodeRows
    ) -> torch.Tensor:
        wanted = np.array([row]) if rows is None else rows
        episode, is_video = span.episode, name in self.meta.info.video_keys
        if is_video:
            seconds = (episode.videos[name].start_s + self._seconds(columns, wanted)).tolist()
            planes = self.videos.planes_at(self.meta.video_file(episode, name), seconds, self.tolerance_s)
        else:
            planes = np.ascontiguousarray(columns[name].at(wanted).transpose(0, 3, 1, 2))
        tensor = torch.from_numpy(planes)
        if is_depth := self.meta.info.features[name].is_depth:
            tensor = tensor.to(torch.float32)  # in the unit that they are stored in
        elif not self.return_uint8:
            tensor = tensor.to(torch.float32).div_(255)
        # As in LeRobot, a window of one video frame has no time axis.
        if rows is None or (is_video and len(rows) == 1):
            tensor = tensor[0]
        return tensor if is_depth or self.image_transforms is None else self.image_transforms(tensor)


def check_reading(image_transforms: object, video_backend: str | None) -> None:
    """Reject options that cannot work, before anything is downloaded."""
    if image_transforms is not None and not callable(image_transforms):
        raise UsageError(f"image_transforms must be a function that takes a picture, got {image_transforms!r}")
    check_backend(video_backend)


def as_columns(arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Turn arrays into tensors, and strings into lists."""
    return {
        name: array.tolist() if array.dtype == object else torch.from_numpy(array) for name, array in arrays.items()
    }
