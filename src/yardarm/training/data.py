"""What a policy learns from: the samples of a dataset, in batches, and its statistics."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from yardarm.datasets import (
    DatasetLoader,
    DatasetMetadata,
    ImageTransforms,
    LeRobotDataset,
    StreamingLeRobotDataset,
    check_files,
    find_metadata,
    from_workers,
    read_metadata,
    select_episodes,
)
from yardarm.errors import UsageError
from yardarm.machine import usable_cores
from yardarm.policies.learning import ACTION, FeatureType, PolicyConfig, PolicyFeature, Statistics
from yardarm.training.config import TrainDatasetOptions, TrainOptions
from yardarm.training.loader_process import begin_loading

__all__ = [
    "Batches",
    "EpisodeSplit",
    "Stream",
    "TrainingData",
    "policy_features",
    "read_meta",
    "split_episodes",
    "statistics",
]

log = logging.getLogger(__name__)

OBSERVATION = "observation."
ENVIRONMENT_STATE = "observation.environment_state"
IMAGE_WORKERS = 4


@dataclass(frozen=True, slots=True)
class EpisodeSplit:
    """The episodes to learn from, and those that are held out."""

    training: list[int]
    held_out: list[int]


def read_meta(options: TrainDatasetOptions) -> DatasetMetadata:
    """What is known of the dataset before anything of it is loaded; if it is here, its files must be, too."""
    folder, on_the_hub = find_metadata(options.repo_id, options.root, options.revision)
    meta = read_metadata(folder)
    if not on_the_hub:
        check_files(meta, select_episodes(options.episodes, meta.total_episodes))
    if options.use_imagenet_stats:
        meta.use_imagenet_stats()
    return meta


def policy_features(meta: DatasetMetadata) -> tuple[dict[str, PolicyFeature], dict[str, PolicyFeature]]:
    """The inputs and outputs of a policy that learns all that the dataset has."""
    inputs: dict[str, PolicyFeature] = {}
    outputs: dict[str, PolicyFeature] = {}
    for name, feature in meta.readable.items():
        if feature.is_depth:
            continue  # no network here takes distances
        if feature.is_visual:
            height, width, channels = feature.shape
            inputs[name] = PolicyFeature(FeatureType.VISUAL, (channels, height, width))
        elif name == ENVIRONMENT_STATE:
            inputs[name] = PolicyFeature(FeatureType.ENV, tuple(feature.shape))
        elif name.startswith(OBSERVATION) and feature.is_numeric:
            inputs[name] = PolicyFeature(FeatureType.STATE, tuple(feature.shape))
        elif name == ACTION:
            outputs[name] = PolicyFeature(FeatureType.ACTION, tuple(feature.shape))
    if not outputs:
        raise UsageError(f"{meta.root} has no '{ACTION}': there is nothing to learn from it")
    return inputs, outputs


def statistics(meta: DatasetMetadata, features: Mapping[str, PolicyFeature], renamed: Mapping[str, str]) -> Statistics:
    """The dataset's statistics of a policy's features, by the policy's names."""
    own = {renamed.get(name, name): stats for name, stats in meta.stats.items()}
    return {
        name: {kind: torch.from_numpy(np.asarray(value)).float() for kind, value in own[name].items()}
        for name in features
        if name in own
    }


def split_episodes(meta: DatasetMetadata, options: TrainDatasetOptions, seed: int) -> EpisodeSplit:
    """Hold out a part of each task's episodes, the same for the same seed, but never all of them."""
    chosen = select_episodes(options.episodes, meta.total_episodes)
    if not options.eval_split:
        return EpisodeSplit(chosen, [])
    by_task: dict[tuple[str, ...], list[int]] = {}
    for number in chosen:
        by_task.setdefault(tuple(meta.episodes[number].tasks), []).append(number)
    generator = np.random.default_rng([seed, 1])
    held_out = {
        int(number)
        for own in by_task.values()
        for number in generator.permutation(own)[: min(len(own) - 1, max(1, round(options.eval_split * len(own))))]
    }
    if not held_out:
        raise UsageError(
            f"--dataset.eval_split={options.eval_split}: no task has two episodes, so none can be held out"
        )
    return EpisodeSplit([number for number in chosen if number not in held_out], sorted(held_out))


@dataclass(frozen=True)
class TrainingData:
    """A dataset as one policy learns from it."""

    meta: DatasetMetadata
    options: TrainDatasetOptions
    config: PolicyConfig
    tolerance_s: float
    names: Mapping[str, str]
    """What the dataset calls the policy's inputs."""

    def dataset(self, episodes: list[int], augmented: bool = True) -> LeRobotDataset:
        """Samples of these episodes."""
        return LeRobotDataset(episodes=episodes, **self._reading(augmented))

    def stream(self, episodes: list[int], seed: int, shard: tuple[int, int]) -> StreamingLeRobotDataset:
        """The same, one after the other."""
        return StreamingLeRobotDataset(episodes=episodes, seed=seed, shard=shard, **self._reading(augmented=True))

    def _reading(self, augmented: bool) -> dict[str, Any]:
        transforms = self.options.image_transforms
        augments = augmented and transforms.enable and bool(self.config.images)
        return {
            "repo_id": self.options.repo_id,
            "root": self.options.root,
            "revision": self.options.revision,
            "delta_timestamps": self._windows(),
            "image_transforms": ImageTransforms(transforms) if augments else None,
            "return_uint8": not augments,  # a quarter of the way to the device; divided there
            "video_backend": self.options.video_backend,
            "tolerance_s": self.tolerance_s,
        }

    def _windows(self) -> dict[str, list[float]]:
        config, fps = self.config, self.meta.fps
        windows = {ACTION: [step / fps for step in config.action_offsets]}
        if config.observation_offsets is not None:
            for name in self.names.values():
                windows[name] = [step / fps for step in config.observation_offsets]
        return windows


class Batches:
    """Batches without end, in an order that is a function of the seed; the place in it can be saved."""

    def __init__(
        self, dataset: LeRobotDataset, config: PolicyConfig, options: TrainOptions, shard: tuple[int, int]
    ) -> None:
        self._loader = DatasetLoader(
            dataset,
            options.batch_size,
            seed=options.seed,
            drop_n_last_frames=config.frames_left_out,
            drop_last=shard[1] > 1,  # every device has its part of every batch
            shard=shard,
            **worker_options(options, bool(config.images)),
        )
        self.per_epoch = len(self._loader)
        # An edited dataset, or other episodes, would not be noticed by the number of frames alone.
        chosen = [dataset.episodes, dataset.episode_bounds.tolist()]
        self._episodes = hashlib.sha256(json.dumps(chosen).encode()).hexdigest()[:16]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self._loader.forever()

    def state_dict(self) -> dict[str, Any]:
        """The place after the last batch."""
        return {**self._loader.state_dict(), "episodes": self._episodes}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a place."""
        if state.get("episodes", self._episodes) != self._episodes:
            raise UsageError("the dataset's episodes are not the ones that this training has learned from so far")
        self._loader.load_state_dict(state)


class Stream:
    """Batches of a dataset that is streamed. A resumed training starts a new pass, in another order."""

    def __init__(
        self, dataset: StreamingLeRobotDataset, config: PolicyConfig, options: TrainOptions, frames: int
    ) -> None:
        self._dataset = dataset
        self._pass = 0
        self._loader: DataLoader[Any] = DataLoader(
            dataset, options.batch_size, drop_last=True, **worker_options(options, bool(config.images))
        )
        self.per_epoch = max(1, frames // options.batch_size)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while True:
            self._dataset.set_epoch(self._pass)
            self._pass += 1
            empty = True
            for batch in from_workers(self._loader):
                empty = False
                yield batch
            if empty:
                raise UsageError("a pass over the stream gives no whole batch: choose a smaller --batch_size")

    def state_dict(self) -> dict[str, Any]:
        """Which pass comes next."""
        return {"pass": self._pass}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue with the next pass."""
        if "pass" not in state:
            raise UsageError("this training was not streamed before: omit --dataset.streaming")
        log.warning(
            "a stream cannot resume at a sample: from here the order differs from that of a training without a stop"
        )
        self._pass = int(state["pass"])


def worker_options(options: TrainOptions, images: bool) -> dict[str, Any]:
    """For torch's loader. States need no help; images are decoded beside the training."""
    workers = options.num_workers
    if workers is None:
        workers = min(IMAGE_WORKERS, max(1, usable_cores() // 2)) if images else 0
    if not workers:
        return {"num_workers": 0}
    return {"num_workers": workers, "prefetch_factor": options.prefetch_factor, "worker_init_fn": begin_loading}
