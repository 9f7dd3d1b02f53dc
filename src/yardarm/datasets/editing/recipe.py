"""What a new dataset is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from yardarm.datasets.editing.reading import EpisodeReader
from yardarm.datasets.episodes import Episode
from yardarm.datasets.features import Schema
from yardarm.datasets.info import DATA_PATH, VERSION, VIDEO_PATH, DatasetInfo
from yardarm.datasets.metadata import DatasetMetadata
from yardarm.datasets.v2 import is_v2
from yardarm.datasets.video import VideoEncoding
from yardarm.errors import DatasetFault

__all__ = ["OnProgress", "PickedEpisode", "Recipe", "new_info", "takes_of"]

OnProgress = Callable[[str, int, int], Any]
"""Told what is being written, how much of it is done, and how much there is."""

# What `info.json` had in version 2, and nobody reads any more.
OF_V2 = ("total_chunks", "total_videos")


@dataclass(frozen=True, slots=True)
class PickedEpisode:
    """An episode of some dataset that becomes part of a new one."""

    reader: EpisodeReader
    episode: Episode


@dataclass(frozen=True, slots=True)
class Recipe:
    """Episodes in their new order, and what changes on the way."""

    info: DatasetInfo
    """Features of the result; totals are filled in."""
    takes: Sequence[PickedEpisode]
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Instructions that get other words."""
    added: Mapping[str, np.ndarray] = field(default_factory=dict)
    """New columns, with a row for each frame of the dataset that is edited."""
    encoding: VideoEncoding | None = None
    """Encode all videos anew, in this way."""
    count_every: int = 0
    """Compute statistics anew, with each so-many-th picture; 0 keeps those that there are."""

    @property
    def whole(self) -> DatasetMetadata | None:
        """The dataset that is taken over as a whole, if it is one."""
        meta = self.takes[0].reader.meta
        same = len(self.takes) == len(meta.episodes) and all(
            take.reader.meta is meta and take.episode.index == number for number, take in enumerate(self.takes)
        )
        return meta if same else None

    @property
    def keeps_video_files(self) -> bool:
        """Whether video files can be taken over as they are."""
        return self.encoding is None and self.whole is not None and not is_v2(self.whole.info)


def takes_of(meta: DatasetMetadata, numbers: Sequence[int] | None = None) -> list[PickedEpisode]:
    """Episodes of a dataset; all, if no numbers are given."""
    if not meta.episodes:
        raise DatasetFault(f"{meta.root} has no episodes")
    reader = EpisodeReader(meta)
    return [
        PickedEpisode(reader, meta.episodes[number])
        for number in (range(len(meta.episodes)) if numbers is None else numbers)
    ]


def new_info(info: DatasetInfo, features: Schema | None = None) -> DatasetInfo:
    """The same in the current version, with files where they belong."""
    return replace(
        info,
        features=dict(info.features if features is None else features),
        codebase_version=VERSION,
        data_path=DATA_PATH,
        video_path=VIDEO_PATH,
        more={name: value for name, value in info.more.items() if name not in OF_V2},
    )
