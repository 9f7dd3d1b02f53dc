"""Loads training batches in an order that depends only on seed and epoch, from any point in that order."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch.utils.data import DataLoader, default_collate

from yardarm.datasets.items import Item
from yardarm.errors import UsageError, nearest

__all__ = ["DatasetLoader", "frame_order", "from_workers"]

SHUFFLES = ("frames", "episodes", "none")


class FramesOfEpisodes(Protocol):
    """The parts of a dataset that a loader needs."""

    @property
    def episode_bounds(self) -> np.ndarray:
        """The first frame of each episode, and finally the number of frames."""

    def __len__(self) -> int: ...

    def __getitem__(self, row: int) -> Item: ...


def frame_order(bounds: np.ndarray, shuffle: str, seed: int, epoch: int, drop_last: int = 0) -> np.ndarray:
    """An epoch's order: all frames shuffled, whole episodes shuffled, or as stored.

    The last `drop_last` frames of each episode are left out: windows that start there are mostly padding.
    """
    generator = np.random.default_rng([seed, epoch])
    spans = [(start, max(start, stop - drop_last)) for start, stop in itertools.pairwise(bounds)]
    if shuffle == "episodes":
        spans = [spans[number] for number in generator.permutation(len(spans))]
    rows = np.concatenate([np.arange(start, stop) for start, stop in spans])
    return generator.permutation(rows) if shuffle == "frames" else rows


class DatasetLoader:
    """A torch `DataLoader` that can be saved and resumed at the exact sample.

    Each pass over it is an epoch, or the rest of one. The batches do not depend on the number of workers, and neither
    do random image transforms.
    """

    def __init__(
        self,
        dataset: FramesOfEpisodes,
        batch_size: int,
        *,
        shuffle: str = "frames",
        seed: int = 0,
        num_workers: int = 0,
        drop_last: bool = False,
        drop_n_last_frames: int = 0,
        shard: tuple[int, int] = (0, 1),
        **options: Any,
    ) -> None:
        """Other options are those of `DataLoader`, like `pin_memory` and `prefetch_factor`.

        `shard` is (this process, number of processes), like (0, 4): each gets `batch_size` samples of every batch.
        """
        if shuffle not in SHUFFLES:
            near = nearest(str(shuffle), SHUFFLES)
            raise UsageError(f"unknown shuffle '{shuffle}'{near} use one of {', '.join(SHUFFLES)}")
        for name, value, least in (
            *(("batch_size", batch_size, 1), ("num_workers", num_workers, 0), ("seed", seed, 0)),
            ("drop_n_last_frames", drop_n_last_frames, 0),
        ):
            if value < least:
                raise UsageError(f"{name} must be at least {least}, got {value}")
        self.dataset = dataset
        if not 0 <= shard[0] < shard[1]:
            raise UsageError(f"shard must be (this process, number of processes), like (0, 4); got {shard}")
        whole = batch_size * shard[1]
        self._batches = _Batches(dataset.episode_bounds, shuffle, seed, whole, drop_last, drop_n_last_frames, shard)
        if not len(self):
            raise UsageError(
                f"{len(dataset)} frames are too few for a batch (batch_size={batch_size}, "
                f"drop_n_last_frames={drop_n_last_frames}, drop_last={drop_last})"
            )
        self._loader: DataLoader[Item] = DataLoader(
            _SeededItems(dataset),
            batch_sampler=self._batches,
            collate_fn=_collated,
            num_workers=num_workers,
            generator=torch.Generator().manual_seed(seed),  # leaves the training's own generator alone
            **{"persistent_workers": num_workers > 0, **options},
        )

    def __len__(self) -> int:
        """Number of batches in an epoch."""
        return len(self._batches)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in from_workers(self._loader):
            self._batches.handed_out()
            yield batch

    def forever(self) -> Iterator[dict[str, Any]]:
        """Batches of one epoch after another, without end."""
        while True:
            yield from self

    def state_dict(self) -> dict[str, Any]:
        """The position after the last batch that was handed out."""
        return {"epoch": self._batches.epoch, "batch": self._batches.batch, **self._batches.identity()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a saved position."""
        for name, value in self._batches.identity().items():
            if state[name] != value:
                raise UsageError(
                    f"the position was saved with {name}={state[name]}, but now it is {value}; "
                    "resume with the same value, or the samples would differ"
                )
        if not 0 <= state["batch"] < len(self):
            raise UsageError(
                f"the saved position is batch {state['batch']} of an epoch, but an epoch now has {len(self)}"
            )
        self._batches.epoch, self._batches.batch = int(state["epoch"]), int(state["batch"])


def from_workers(loader: DataLoader[Item]) -> Iterator[dict[str, Any]]:
    """A loader's batches. If a worker finds bad data, the error is raised without the worker's traceback in it."""
    try:
        yield from loader
    except UsageError as error:
        lines = str(error).strip().splitlines()
        if "DataLoader worker" not in lines[0]:
            raise
        raise type(error)(lines[-1].partition(": ")[2]) from error


@dataclass
class _Batches:
    """The rows of each batch, each with a seed for its random transforms; and the position among the batches.

    Nothing in here refers back to the loader: a cycle would delay the end of its workers, and a worker that was forked
    meanwhile would try to end them.
    """

    bounds: np.ndarray
    shuffle: str
    seed: int
    batch_size: int
    drop_last: bool
    drop_n_last_frames: int
    shard: tuple[int, int]
    epoch: int = 0
    batch: int = 0

    def __len__(self) -> int:
        frames = int((np.diff(self.bounds) - self.drop_n_last_frames).clip(0).sum())
        return frames // self.batch_size if self.drop_last else -(-frames // self.batch_size)

    def __iter__(self) -> Iterator[list[tuple[int, int]]]:
        epoch, first = self.epoch, self.batch
        rows = frame_order(self.bounds, self.shuffle, self.seed, epoch, self.drop_n_last_frames)
        for batch in range(first, len(self)):
            start = batch * self.batch_size
            whole = rows[start : start + self.batch_size].tolist()
            draws = [(row, _item_seed(self.seed, epoch, start + place)) for place, row in enumerate(whole)]
            yield draws[self.shard[0] :: self.shard[1]]

    def identity(self) -> dict[str, Any]:
        """Everything that the order depends on."""
        names = ("shuffle", "seed", "batch_size", "drop_last", "drop_n_last_frames")
        return {"frames": int(self.bounds[-1]), **{name: getattr(self, name) for name in names}}

    def handed_out(self) -> None:
        """Count a batch when it is handed out, not when a worker has made it in advance."""
        self.batch += 1
        if self.batch == len(self):
            self.epoch, self.batch = self.epoch + 1, 0


def _item_seed(seed: int, epoch: int, place: int) -> int:
    return int.from_bytes(hashlib.blake2b(f"{seed} {epoch} {place}".encode(), digest_size=7).digest())


def _collated(items: Any) -> Any:
    """Make one batch of many items; items of numbers are already a batch."""
    return items if isinstance(items, dict) else default_collate(items)


class _SeededItems(torch.utils.data.Dataset):
    """Seeds each item's random transforms, so that they are the same in any process."""

    def __init__(self, dataset: FramesOfEpisodes) -> None:
        self._dataset = dataset

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, draw: tuple[int, int]) -> Item:
        row, seed = draw
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)  # not a GPU's generator, which belongs to the training
            return self._dataset[row]

    def __getitems__(self, draws: Sequence[tuple[int, int]]) -> Item | list[Item]:
        """Items without pictures are not transformed, so they need no seed."""
        if getattr(self._dataset, "has_only_numbers", False):
            return self._dataset.__getitems__([row for row, _ in draws])  # type: ignore[attr-defined]
        return [self[draw] for draw in draws]
