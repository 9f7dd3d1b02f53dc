"""Pictures of what transforms do, to look at before training."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import torch
from torch import Tensor

from yardarm.datasets.transforms.augment import ImageTransforms
from yardarm.datasets.transforms.config import ImageTransformConfig, ImageTransformsConfig
from yardarm.datasets.transforms.limits import is_number
from yardarm.errors import UsageError

__all__ = ["ALL", "transform_examples"]

ALL = "all"
ENDS = ("min", "mean", "max")


def transform_examples(
    config: ImageTransformsConfig, image: Tensor, count: int, seed: int
) -> dict[str, dict[str, Tensor]]:
    """Changed images by transform: `count` random ones each, and the ends of its ranges; and all transforms together.

    The names are LeRobot's: ``{"all": {"1": …}, "brightness": {"min": …, "mean": …, "max": …, "1": …}}``.
    """
    together = replace(config, enable=True)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        shown = {ALL: _drawn(together, image, count)}
        for name in ImageTransforms(together).transforms:
            alone = ImageTransformsConfig(enable=True, max_num_transforms=1, tfs={name: config.tfs[name]})
            shown[name] = {**_ends(config.tfs[name], image), **_drawn(alone, image, count)}
    return shown


def _drawn(config: ImageTransformsConfig, image: Tensor, count: int) -> dict[str, Tensor]:
    transforms = ImageTransforms(config)
    return {str(number): transforms(image) for number in range(1, count + 1)}


def _ends(config: ImageTransformConfig, image: Tensor) -> dict[str, Tensor]:
    """The image with all ranges at their lower ends, in the middle, and at their upper ends; nothing without ranges."""
    ranges = {
        name: tuple(value)
        for name, value in config.kwargs.items()
        if isinstance(value, list | tuple) and len(value) == 2 and all(map(is_number, value))
    }
    ends = {}
    for place, end in enumerate(ENDS if ranges else ()):
        fixed = {name: [_between(low, high, place)] * 2 for name, (low, high) in ranges.items()}
        # Some cannot be had: a motion blur of an even length, say, although its range may end there.
        with contextlib.suppress(UsageError):
            alone = ImageTransformsConfig(enable=True, tfs={end: replace(config, kwargs={**config.kwargs, **fixed})})
            ends[end] = ImageTransforms(alone)(image)
    return ends


def _between(low: float, high: float, place: int) -> float:
    middle = (low + high) / 2
    whole = isinstance(low, int) and isinstance(high, int)
    return (low, int(middle) if whole else middle, high)[place]
