"""Describes a new dataset: which episodes it gets, and what changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from yardarm.datasets.editing.reading import EpisodeReader
from yardarm.datasets.episodes import Episode
from yardarm.datasets.features import Schema
from yardarm.datasets.info import DATA_PATH, VERSION, VIDEO_PATH, DatasetInfo
from yardarm.datasets.metadata import DatasetMetadata
from yardarm.datasets.v2 import is_v2
from yardarm.datasets.video import Segment, VideoEncoding
from yardarm.errors import DatasetFault

__all__ = ["OnProgress", "PickedEpisode", "Recipe", "new_info", "pick_episodes"]

OnProgress = Callable[[str, int, int], Any]
"""Called with what is being written, how much is done, and the total."""

# Entries of `info.json` in version 2 that are no longer used.
OF_V2 = ("total_chunks", "total_videos")


@dataclass(frozen=True, slots=True)
class PickedEpisode:
    """An episode of an existing dataset, chosen for the new one."""

    reader: EpisodeReader
    episode: Episode
    kept: range | None = None
    """The frames that are kept, if not all."""
    task: str | None = None
    """A new instruction for all its frames."""

    @property
    def frames(self) -> range:
        """The frames that the new dataset gets."""
        return range(self.episode.length) if self.kept is None else self.kept

    @property
    def is_trimmed(self) -> bool:
        """Whether frames are missing."""
        return len(self.frames) < self.episode.length

    def table(self) -> pa.Table:
        """The rows of its frames, as stored."""
        return self.reader.frames(self.episode).slice(self.frames.start, len(self.frames))

    def segment(self, key: str) -> Segment:
        """The part of a video file that shows its frames."""
        whole = self.reader.segment(self.episode, key)
        return replace(whole, start_s=whole.start_s + self.frames.start / whole.fps, frames=len(self.frames))


@dataclass(frozen=True, slots=True)
class Recipe:
    """Episodes in their new order, and what changes."""

    info: DatasetInfo
    """Features of the result; totals are filled in."""
    picks: Sequence[PickedEpisode]
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Instructions and their new words."""
    added: Mapping[str, np.ndarray] = field(default_factory=dict)
    """New columns, with one row per frame of the edited dataset."""
    encoding: VideoEncoding | None = None
    """If set, encode all videos again in this way."""
    count_every: int = 0
    """Compute statistics again, from every n-th picture; 0 keeps the existing ones."""

    @property
    def whole(self) -> DatasetMetadata | None:
        """The source dataset, if all its episodes are kept whole and in order."""
        meta = self.picks[0].reader.meta
        same = len(self.picks) == len(meta.episodes) and all(
            pick.reader.meta is meta and pick.episode.index == number and not pick.is_trimmed
            for number, pick in enumerate(self.picks)
        )
        return meta if same else None

    @property
    def keeps_video_files(self) -> bool:
        """Whether video files can be copied unchanged."""
        return self.encoding is None and self.whole is not None and not is_v2(self.whole.info)


def pick_episodes(meta: DatasetMetadata, numbers: Sequence[int] | None = None) -> list[PickedEpisode]:
    """Pick episodes of a dataset; all, if no numbers are given."""
    if not meta.episodes:
        raise DatasetFault(f"{meta.root} has no episodes")
    reader = EpisodeReader(meta)
    return [
        PickedEpisode(reader, meta.episodes[number])
        for number in (range(len(meta.episodes)) if numbers is None else numbers)
    ]


def new_info(info: DatasetInfo, features: Schema | None = None) -> DatasetInfo:
    """The same description in the current version, with the standard file layout."""
    return replace(
        info,
        features=dict(info.features if features is None else features),
        codebase_version=VERSION,
        data_path=DATA_PATH,
        video_path=VIDEO_PATH,
        more={name: value for name, value in info.more.items() if name not in OF_V2},
    )
