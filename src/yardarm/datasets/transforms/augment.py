"""Applies a few of the configured transforms to each image, drawn at random each time."""

from __future__ import annotations

import torch
from torch import Tensor

from yardarm.datasets.transforms.config import ImageTransformConfig, ImageTransformsConfig
from yardarm.datasets.transforms.kinds import Transform, make_transform
from yardarm.datasets.transforms.limits import Limits
from yardarm.errors import UsageError

__all__ = ["ImageTransforms"]


class ImageTransforms:
    """Changes images at random: floats in 0…1 or bytes, [..., 1 or 3 channels, height, width], and keeps their dtype.

    All draws come from torch's global generator, in LeRobot's order; one draw applies to all leading dimensions.
    """

    def __init__(self, config: ImageTransformsConfig) -> None:
        most = Limits(1, whole=True).number("max_num_transforms", config.max_num_transforms)
        weights = {name: _weight(name, one) for name, one in config.tfs.items()}
        self.enable = config.enable
        # Like LeRobot: a transform of weight 0 is off, and its options are not checked.
        self.transforms = {name: _made(name, one) for name, one in config.tfs.items() if weights[name] > 0}
        if self.enable and not self.transforms:
            raise UsageError(
                f"image transforms are enabled, but none of {', '.join(config.tfs) or 'tfs={}'} has a weight above 0; "
                "give one a weight, or set enable=false"
            )
        self._weights = torch.tensor([weights[name] / sum(weights.values()) for name in self.transforms])
        # Like LeRobot: a limit above the number of transforms means all of them.
        self._count = min(int(most), len(self.transforms))
        self._random_order = config.random_order

    def __call__(self, image: Tensor) -> Tensor:
        """The image, changed by transforms and amounts drawn for this call."""
        if not self.enable:
            return image
        _check(image)
        # Bytes are rounded once, after the last transform.
        changed = image.float() / 255 if image.dtype == torch.uint8 else image.float()
        for name in self.pick():
            changed = self.transforms[name](changed)
        return (changed * 255).round().to(torch.uint8) if image.dtype == torch.uint8 else changed.to(image.dtype)

    def pick(self) -> list[str]:
        """Names of transforms, drawn by weight and without repetition, in the order in which they are applied."""
        drawn = torch.multinomial(self._weights, self._count)
        names = list(self.transforms)
        return [names[number] for number in (drawn if self._random_order else drawn.sort().values).tolist()]


def _weight(name: str, config: ImageTransformConfig) -> float:
    return Limits(0).number(f"image transform '{name}': weight", config.weight)


def _made(name: str, config: ImageTransformConfig) -> Transform:
    try:
        return make_transform(config.type, config.kwargs)
    except UsageError as error:
        raise UsageError(f"image transform '{name}': {error}") from None


def _check(image: Tensor) -> None:
    fits = image.ndim >= 3 and image.shape[-3] in (1, 3) and (image.dtype == torch.uint8 or image.is_floating_point())
    if not fits:
        raise UsageError(
            "image transforms need floats in 0…1 or uint8, shaped [..., 1 or 3 channels, height, width], "
            f"got {image.dtype} shaped {list(image.shape)}; apply them to images only, or set enable=false"
        )
