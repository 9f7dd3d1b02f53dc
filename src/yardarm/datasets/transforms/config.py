"""The configuration of image transforms, with LeRobot's names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["ImageTransformConfig", "ImageTransformsConfig"]


@dataclass
class ImageTransformConfig:
    """One transform: its kind, the ranges it draws from, and its weight among the others."""

    weight: float = 1.0
    type: str = "Identity"
    kwargs: dict[str, Any] = field(default_factory=dict)


def _lerobots_six() -> dict[str, ImageTransformConfig]:
    return {
        "brightness": ImageTransformConfig(type="ColorJitter", kwargs={"brightness": (0.8, 1.2)}),
        "contrast": ImageTransformConfig(type="ColorJitter", kwargs={"contrast": (0.8, 1.2)}),
        "saturation": ImageTransformConfig(type="ColorJitter", kwargs={"saturation": (0.5, 1.5)}),
        "hue": ImageTransformConfig(type="ColorJitter", kwargs={"hue": (-0.05, 0.05)}),
        "sharpness": ImageTransformConfig(type="SharpnessJitter", kwargs={"sharpness": (0.5, 1.5)}),
        "affine": ImageTransformConfig(type="RandomAffine", kwargs={"degrees": (-5.0, 5.0), "translate": (0.05, 0.05)}),
    }


@dataclass
class ImageTransformsConfig:
    """LeRobot's fields and defaults: off, or three of six mild transforms for each image."""

    enable: bool = False
    max_num_transforms: int = 3
    random_order: bool = False
    tfs: dict[str, ImageTransformConfig] = field(default_factory=_lerobots_six)
