"""Changes that depend on where pixels are. Images are floats in 0…1, [..., 1 or 3 channels, height, width]."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.nn import functional as F

from yardarm.datasets.transforms.colour import blend
from yardarm.errors import UsageError

__all__ = [
    "Band",
    "Hole",
    "Patch",
    "add_noise",
    "adjust_sharpness",
    "affine",
    "compress",
    "cut_holes",
    "gaussian_blur",
    "light_patches",
    "motion_blur",
    "shade",
]

SOFT_EDGE = 8
"""The width in pixels of a shadow's soft edge."""


@dataclass(frozen=True, slots=True)
class Patch:
    """A brighter or darker spot; the image's sides are 0…1."""

    y: float
    x: float
    sigma: float
    factor: float


@dataclass(frozen=True, slots=True)
class Band:
    """A brighter or darker vertical band: its width relative to the image, and its place, 0 (left) to 1 (right)."""

    start: float
    width: float
    gain: float


@dataclass(frozen=True, slots=True)
class Hole:
    """A rectangle: its sides relative to the image, and its place, from 0 (top, left) to 1 (bottom, right)."""

    height: float
    width: float
    y: float
    x: float


def affine(
    image: Tensor, angle: float, translate: tuple[float, float], scale: float, shear: tuple[float, float]
) -> Tensor:
    """Shear along x and y, scale, rotate clockwise about the centre, then move by pixels; the outside is black.

    Angles are in degrees. Each pixel takes the value of the nearest one.
    """
    height, width = image.shape[-2:]
    to_source = torch.linalg.inv(_linear_map(angle, scale, shear))
    move = -to_source @ torch.tensor([translate], dtype=torch.float64).T
    # Torch measures both axes in half images, whatever their length.
    half = torch.tensor([[width / 2], [height / 2]], dtype=torch.float64)
    theta = torch.cat([to_source * half.T, move], dim=1) / half
    flat = image.reshape(-1, *image.shape[-3:])
    grid = F.affine_grid(theta[None].to(image), [1, 1, height, width], align_corners=False)
    moved = F.grid_sample(flat, grid.expand(len(flat), -1, -1, -1), mode="nearest", align_corners=False)
    return moved.view(image.shape)


def _linear_map(angle: float, scale: float, shear: tuple[float, float]) -> Tensor:
    turn = math.radians(angle)
    rotation = [[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]]
    along_y = [[1.0, 0.0], [-math.tan(math.radians(shear[1])), 1.0]]
    along_x = [[1.0, -math.tan(math.radians(shear[0]))], [0.0, 1.0]]
    maps = torch.tensor([rotation, along_y, along_x], dtype=torch.float64)
    return scale * maps[0] @ maps[1] @ maps[2]


def adjust_sharpness(image: Tensor, factor: float) -> Tensor:
    """0 is blurred, 1 is the image, 2 is sharper; pixels on the edge are unchanged."""
    if min(image.shape[-2:]) < 3:
        return image
    # The mean of a pixel (weight 5) and its eight neighbours; a convolution would take four times as long.
    rows = image[..., :-2, :] + image[..., 1:-1, :] + image[..., 2:, :]
    blocks = rows[..., :-2] + rows[..., 1:-1] + rows[..., 2:]
    blurred = image.clone()
    blurred[..., 1:-1, 1:-1] = (blocks + 4 * image[..., 1:-1, 1:-1]) / 13
    return blend(image, blurred, factor)


def gaussian_blur(image: Tensor, kernel_size: tuple[int, int], sigma: float) -> Tensor:
    """Blur with a kernel of this size in pixels along x and y, both odd; the image is mirrored at its edges."""
    height, width = image.shape[-2:]
    reach_x, reach_y = kernel_size[0] // 2, kernel_size[1] // 2
    if reach_x >= width or reach_y >= height:
        raise UsageError(
            f"GaussianBlur: kernel_size {list(kernel_size)} is too large for an image of {width}x{height} pixels; "
            "make it smaller than twice the image"
        )
    channels = image.shape[-3]
    padded = F.pad(image.reshape(-1, *image.shape[-3:]), (reach_x, reach_x, reach_y, reach_y), mode="reflect")
    across = _bell(reach_x, sigma).to(image).expand(channels, 1, 1, -1)
    down = _bell(reach_y, sigma).to(image).expand(channels, 1, 1, -1).mT
    return F.conv2d(F.conv2d(padded, across, groups=channels), down, groups=channels).view(image.shape)


def _bell(reach: int, sigma: float) -> Tensor:
    steps = torch.arange(-reach, reach + 1, dtype=torch.float64) / sigma
    return torch.softmax(-(steps**2) / 2, dim=0)


def motion_blur(image: Tensor, length: int, angle: float) -> Tensor:
    """The mean along a straight line of `length` pixels, an odd number; edges are repeated outwards."""
    height, width = image.shape[-2:]
    reach = length // 2
    dx, dy = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    way = {(round(step * dy), round(step * dx)) for step in range(-reach, reach + 1)}
    padded = F.pad(image.reshape(-1, *image.shape[-3:]), (reach,) * 4, mode="replicate")
    total = sum(padded[..., reach + y : reach + y + height, reach + x : reach + x + width] for y, x in sorted(way))
    assert isinstance(total, Tensor)
    return (total / len(way)).view(image.shape).clamp(0, 1)


def add_noise(image: Tensor, std: float, seed: int) -> Tensor:
    """Add independent normal noise to each value."""
    # A generator on the image's device, so that the noise need not be copied there.
    generator = torch.Generator(image.device).manual_seed(seed)
    noise = torch.randn(image.shape, generator=generator, device=image.device, dtype=image.dtype)
    return (image + std * noise).clamp(0, 1)


def compress(image: Tensor, quality: int) -> Tensor:
    """Encode as JPEG of this quality, and decode again."""
    frames = (image.clamp(0, 1) * 255).round().to(torch.uint8).reshape(-1, *image.shape[-3:]).movedim(1, -1)
    back = np.stack([_jpeg(frame, quality) for frame in frames.numpy(force=True)])
    return torch.from_numpy(back).movedim(-1, 1).to(image).view(image.shape) / 255


def _jpeg(frame: np.ndarray, quality: int) -> np.ndarray:
    file = io.BytesIO()
    Image.fromarray(frame.squeeze(-1) if frame.shape[-1] == 1 else frame).save(file, "JPEG", quality=quality)
    with Image.open(file) as picture:
        return np.array(picture).reshape(frame.shape)


def light_patches(image: Tensor, patches: Sequence[Patch]) -> Tensor:
    """Make the image brighter or darker around some spots."""
    y = torch.linspace(0, 1, image.shape[-2]).unsqueeze(-1)
    x = torch.linspace(0, 1, image.shape[-1])
    light = torch.ones(image.shape[-2:])
    for patch in patches:
        nearness = torch.exp(-((y - patch.y) ** 2 + (x - patch.x) ** 2) / (2 * patch.sigma**2))
        light *= 1 + (patch.factor - 1) * nearness
    return (image * light.to(image)).clamp(0, 1)


def shade(image: Tensor, band: Band) -> Tensor:
    """Make a band of the image brighter or darker, with soft edges."""
    height, width = image.shape[-2:]
    across = max(1, round(band.width * width))
    left = round(band.start * (width - across))
    light = torch.ones(width)
    light[left : left + across] = band.gain
    # Average blocks of pixels, then interpolate between them.
    blocks = F.avg_pool1d(light.view(1, 1, -1), min(SOFT_EDGE, height, width))
    light = F.interpolate(blocks, size=width, mode="linear", align_corners=False).view(-1)
    return (image * light.to(image)).clamp(0, 1)


def cut_holes(image: Tensor, holes: Sequence[Hole], fill: float) -> Tensor:
    """Fill rectangles of at least one pixel with one value."""
    height, width = image.shape[-2:]
    cut = image.clone()
    for hole in holes:
        rows, columns = max(1, round(hole.height * height)), max(1, round(hole.width * width))
        top, left = round(hole.y * (height - rows)), round(hole.x * (width - columns))
        cut[..., top : top + rows, left : left + columns] = fill
    return cut
