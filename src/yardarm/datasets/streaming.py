"""Streams frames from a dataset without loading it: from a folder, or directly from the Hub."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import IterableDataset, get_worker_info

from yardarm.datasets.arrow import OpenFile
from yardarm.datasets.dataset import TOLERANCE_S
from yardarm.datasets.episodes import Episode
from yardarm.datasets.frames import columns_without_images, read_frames
from yardarm.datasets.items import EpisodeRows, ImageTransform, Item, ItemMaker, as_columns, check_reading
from yardarm.datasets.metadata import read_metadata
from yardarm.datasets.pictures import EncodedPictures
from yardarm.datasets.selection import select_episodes
from yardarm.datasets.source import find_metadata
from yardarm.datasets.video import VideoReaders
from yardarm.datasets.windows import Windows
from yardarm.errors import UsageError

__all__ = ["HubFile", "StreamingLeRobotDataset"]

# A video is read from the Hub in pieces of this size.
BLOCK = 2**20


@dataclass(frozen=True, slots=True)
class HubFile:
    """Opens a dataset's files on the Hub, and fetches only the parts that are read."""

    root: Path
    """Where the dataset would be on this machine; files that exist there are used."""
    repo_id: str
    revision: str

    def __call__(self, path: Path) -> Any:
        """Open a file, locally or on the Hub."""
        if path.exists():
            return path.open("rb")
        from huggingface_hub import HfFileSystem

        relative = path.relative_to(self.root).as_posix()
        return HfFileSystem().open(f"datasets/{self.repo_id}@{self.revision}/{relative}", "rb", block_size=BLOCK)


class StreamingLeRobotDataset(IterableDataset):
    """Items of a dataset of any size, in constant memory.

    Episodes are read one at a time into a buffer of `buffer_size` frames, from which a random frame comes next.
    Pictures are decoded when their frame is drawn. With several workers, each reads its own episodes.
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
        shuffle: bool = True,
        buffer_size: int = 1000,
        seed: int = 42,
        shard: tuple[int, int] = (0, 1),
    ) -> None:
        """Options are those of `LeRobotDataset`; `shard` is (this process, number of processes), like (0, 4)."""
        if buffer_size < 1:
            raise UsageError(f"buffer_size must be at least 1, got {buffer_size}")
        if not 0 <= shard[0] < shard[1]:
            raise UsageError(f"shard must be (this process, number of processes), like (0, 4); got {shard}")
        check_reading(image_transforms, video_backend)
        folder, hub_revision = find_metadata(repo_id, root, revision)
        self.repo_id = repo_id or folder.name
        self.root = folder
        self.meta = read_metadata(folder)
        self.episodes = select_episodes(episodes, self.meta.total_episodes)
        self.shuffle, self.buffer_size, self.seed, self.shard = shuffle, buffer_size, seed, shard
        self._passes = 0
        self._fixed_epoch = torch.full((), -1).share_memory_()  # running workers see it too
        self._open_file: OpenFile | None = HubFile(folder, repo_id, hub_revision) if hub_revision else None
        windows = Windows.of(delta_timestamps, self.meta.fps, tolerance_s, self.meta.readable)
        self._maker = ItemMaker(
            *(self.meta, windows, VideoReaders(video_backend, self._open_file), tolerance_s),
            *(image_transforms, return_uint8),
        )
        if use_imagenet_stats:
            self.meta.use_imagenet_stats()

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
        """Number of frames in the selected episodes, over all shards."""
        return sum(self.meta.episodes[number].length for number in self.episodes)

    @property
    def num_episodes(self) -> int:
        """Number of selected episodes, over all shards."""
        return len(self.episodes)

    def set_epoch(self, epoch: int) -> None:
        """Shuffle by the seed and this number from the next pass on; otherwise each pass is shuffled differently."""
        self._fixed_epoch.fill_(epoch)

    def __iter__(self) -> Iterator[Item]:
        worker = get_worker_info()
        part, parts = (worker.id, worker.num_workers) if worker else (0, 1)
        number, count = self.shard[0] * parts + part, self.shard[1] * parts
        own = self.episodes[number::count]  # the same in each pass, however other workers shuffle
        generator = random.Random(f"{self.seed} {self._epoch()} {number}")
        if self.shuffle:
            generator.shuffle(own)
        frames = self._frames(own)
        return self._mixed(frames, generator) if self.shuffle else (self._item(frame) for frame in frames)

    def _epoch(self) -> str:
        """What distinguishes this pass from others."""
        passes, self._passes = self._passes, self._passes + 1
        if self._fixed_epoch >= 0:
            return str(int(self._fixed_epoch))
        worker = get_worker_info()
        # New workers count from 0 again, but torch seeds the workers of each pass differently.
        return str(passes) if worker is None else f"{passes} {worker.seed}"

    def _frames(self, episodes: Sequence[int]) -> Iterator[_Frame]:
        for number in episodes:
            loaded = self._load(self.meta.episodes[number])
            for row in range(loaded.episode.length):
                yield _Frame(loaded, row)

    def _mixed(self, frames: Iterator[_Frame], generator: random.Random) -> Iterator[Item]:
        """Yield a random frame of the buffer, and put the next one in its place."""
        waiting: list[_Frame] = []
        for frame in frames:
            if len(waiting) < self.buffer_size:
                waiting.append(frame)
                continue
            place = generator.randrange(len(waiting))
            chosen, waiting[place] = waiting[place], frame
            yield self._item(chosen)
        generator.shuffle(waiting)
        yield from (self._item(frame) for frame in waiting)

    def _load(self, episode: Episode) -> _LoadedEpisode:
        names = [*columns_without_images(self.meta), *self.meta.info.image_keys]
        arrays = read_frames(self.meta, [episode], names, self._open_file)
        pictures = {key: EncodedPictures(arrays.pop(key)) for key in self.meta.info.image_keys}
        return _LoadedEpisode(episode, {**as_columns(arrays), **pictures})

    def _item(self, frame: _Frame) -> Item:
        loaded = frame.episode
        return self._maker.make(loaded.columns, frame.row, EpisodeRows(loaded.episode, 0, loaded.episode.length))


@dataclass(frozen=True, slots=True)
class _LoadedEpisode:
    episode: Episode
    columns: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Frame:
    """A frame in the buffer."""

    episode: _LoadedEpisode
    row: int
