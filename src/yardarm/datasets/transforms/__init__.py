"""Random changes to training images: LeRobot's `image_transforms`, without torchvision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yardarm.datasets.transforms.config import ImageTransformConfig, ImageTransformsConfig
from yardarm.late import late_names

if TYPE_CHECKING:
    from yardarm.datasets.transforms.augment import ImageTransforms
    from yardarm.datasets.transforms.examples import transform_examples

__all__ = ["ImageTransformConfig", "ImageTransforms", "ImageTransformsConfig", "transform_examples"]

# Flags are read without torch, which takes a second to import.
__getattr__ = late_names(__name__, {"ImageTransforms": "augment", "transform_examples": "examples"})
