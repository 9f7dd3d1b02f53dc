"""Images in the size that a vision tower reads, with bars where their proportions differ."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

__all__ = ["fit_between_bars", "fit_to_corner"]


def fit_to_corner(images: Tensor, width: int, height: int, bars: float = 0.0) -> Tensor:
    """Resize (batch, channel, height, width); bars are left and above only."""
    smaller = _shrunk(images, width, height)
    left, above = width - smaller.shape[-1], height - smaller.shape[-2]
    return F.pad(smaller, (left, 0, above, 0), value=bars)


def fit_between_bars(images: Tensor, width: int, height: int) -> Tensor:
    """Resize images of values 0…1, with black bars on both sides; an odd line is right or below."""
    if images.shape[-2:] == (height, width):
        return images
    smaller = _shrunk(images, width, height).clamp(0, 1)
    across, down = width - smaller.shape[-1], height - smaller.shape[-2]
    return F.pad(smaller, (across // 2, across - across // 2, down // 2, down - down // 2))


def _shrunk(images: Tensor, width: int, height: int) -> Tensor:
    """As large as fits, with the same proportions."""
    ratio = max(images.shape[-1] / width, images.shape[-2] / height)
    size = (int(images.shape[-2] / ratio), int(images.shape[-1] / ratio))
    if size == tuple(images.shape[-2:]):
        return images
    return F.interpolate(images, size, mode="bilinear", align_corners=False)
