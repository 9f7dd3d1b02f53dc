"""Random changes to training images: LeRobot's `image_transforms`, without torchvision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yardarm.datasets.transforms.config import ImageTransformConfig, ImageTransformsConfig

if TYPE_CHECKING:
    from yardarm.datasets.transforms.augment import ImageTransforms

__all__ = ["ImageTransformConfig", "ImageTransforms", "ImageTransformsConfig"]


def __getattr__(name: str) -> Any:
    # Flags are read without torch, which takes a second to import.
    if name == "ImageTransforms":
        from yardarm.datasets.transforms.augment import ImageTransforms

        return ImageTransforms
    raise AttributeError(f"module 'yardarm.datasets.transforms' has no attribute '{name}'")
