"""Several datasets as one."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from yardarm.datasets.dataset import LeRobotDataset
from yardarm.datasets.items import Item
from yardarm.datasets.statistics import FeatureStats, aggregate, with_imagenet
from yardarm.errors import UsageError

__all__ = ["MultiLeRobotDataset"]

log = logging.getLogger(__name__)


class MultiLeRobotDataset(torch.utils.data.Dataset):
    """Several datasets concatenated: items have the keys that all of them share, and a `dataset_index`."""

    def __init__(
        self,
        repo_ids: Sequence[str],
        root: str | Path | None = None,
        *,
        episodes: Mapping[str, Sequence[int]] | None = None,
        **options: Any,
    ) -> None:
        """Open datasets by name, in `root` if given; options are those of `LeRobotDataset`."""
        if not repo_ids:
            raise UsageError("which datasets? Give at least one name")
        unknown = [name for name in episodes or {} if name not in repo_ids]
        if unknown:
            raise UsageError(f"episodes are selected from '{unknown[0]}', which is not one of {', '.join(repo_ids)}")
        self.repo_ids = list(repo_ids)
        self.datasets = [
            LeRobotDataset(
                name,
                root=None if root is None else Path(root) / name,
                episodes=(episodes or {}).get(name),
                **options,
            )
            for name in repo_ids
        ]
        self._check()
        self.stats: dict[str, FeatureStats] = aggregate(
            [{name: own for name, own in dataset.meta.stats.items() if name in self.keys} for dataset in self.datasets]
        )
        if options.get("use_imagenet_stats"):
            cameras = [name for name in self.datasets[0].meta.camera_keys if name in self.keys]
            self.stats = with_imagenet(self.stats, cameras)
        self._ends = np.cumsum([len(dataset) for dataset in self.datasets])

    @property
    def fps(self) -> int:
        """Frames per second, the same for all."""
        return self.datasets[0].fps

    @property
    def features(self) -> dict[str, Any]:
        """The features that all datasets have."""
        return {name: feature for name, feature in self.datasets[0].features.items() if name in self.keys}

    @property
    def num_frames(self) -> int:
        """Number of frames in all datasets."""
        return len(self)

    @property
    def num_episodes(self) -> int:
        """Number of episodes in all datasets."""
        return sum(dataset.num_episodes for dataset in self.datasets)

    @property
    def episode_bounds(self) -> np.ndarray:
        """The first frame of each episode, and finally the number of frames."""
        before = [0, *self._ends[:-1]]
        starts = [dataset.episode_bounds[:-1] + own for dataset, own in zip(self.datasets, before, strict=True)]
        return np.concatenate([*starts, self._ends[-1:]])

    def __len__(self) -> int:
        return int(self._ends[-1])

    def __getitem__(self, row: int) -> Item:
        if not -len(self) <= row < len(self):
            raise IndexError(f"frame {row} of {len(self)}")
        row = int(row) % len(self)
        number = int(np.searchsorted(self._ends, row, side="right"))
        dataset = self.datasets[number]
        item = dataset[row - int(self._ends[number]) + len(dataset)]
        kept = {name: value for name, value in item.items() if name.removesuffix("_is_pad") in self.keys}
        return {**kept, "task": item["task"], "dataset_index": torch.tensor(number)}

    def _check(self) -> None:
        """Find the keys that all datasets share, and reject datasets that cannot be batched together."""
        first, *others = self.datasets
        self.keys = set(first.features).intersection(*(dataset.features for dataset in others))
        for dataset in others:
            if dataset.fps != first.fps:
                raise UsageError(
                    f"{dataset.repo_id} has {dataset.fps} frames per second, but {first.repo_id} has {first.fps}"
                )
            for name in sorted(self.keys):
                own, expected = dataset.meta.info.features[name], first.meta.info.features[name]
                if own.shape != expected.shape or (own.dtype != expected.dtype and not own.is_visual):
                    raise UsageError(
                        f"'{name}' is {expected.dtype} {expected.shape} in {first.repo_id}, "
                        f"but {own.dtype} {own.shape} in {dataset.repo_id}; rename or remove one"
                    )
        for dataset in self.datasets:
            if left_out := sorted(set(dataset.features) - self.keys):
                log.warning("%s: ignoring %s, which other datasets do not have", dataset.repo_id, ", ".join(left_out))
