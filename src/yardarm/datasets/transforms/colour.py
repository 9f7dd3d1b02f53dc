"""Changes of colour, each pixel by itself. Images are floats in 0…1, [..., 1 or 3 channels, height, width]."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

__all__ = [
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "blend",
    "light_with",
]

# Black bodies of 3,000 to 15,000 K in steps of 500 K, as red, green and blue (Zini et al., Planckian Jitter, 2022).
TEMPERATURES = np.arange(3_000, 15_001, 500)
RED = (
    *(0.6743, 0.6281, 0.5919, 0.5623, 0.5376, 0.5163, 0.4979, 0.4816, 0.4672, 0.4542, 0.4426, 0.4320, 0.4223),
    *(0.4135, 0.4054, 0.3980, 0.3911, 0.3847, 0.3787, 0.3732, 0.3680, 0.3632, 0.3586, 0.3544, 0.3503),
)
GREEN = (
    *(0.4029, 0.4241, 0.4372, 0.4457, 0.4515, 0.4555, 0.4584, 0.4604, 0.4619, 0.4630, 0.4638, 0.4644, 0.4648),
    *(0.4651, 0.4653, 0.4654, 0.4655, 0.4656, 0.4656, 0.4656, 0.4655, 0.4655, 0.4655, 0.4654, 0.4653),
)
BLUE = (
    *(0.0013, 0.1665, 0.2513, 0.3154, 0.3672, 0.4103, 0.4468, 0.4782, 0.5053, 0.5289, 0.5497, 0.5681, 0.5844),
    *(0.5990, 0.6121, 0.6239, 0.6346, 0.6444, 0.6532, 0.6613, 0.6688, 0.6756, 0.6820, 0.6878, 0.6933),
)


def blend(image: Tensor, other: Tensor, factor: float) -> Tensor:
    """Interpolate from the other image (0) to this one (1), or extrapolate beyond it."""
    return (image * factor + other * (1 - factor)).clamp(0, 1)


def adjust_brightness(image: Tensor, factor: float) -> Tensor:
    """0 is black, 1 is the image."""
    return (image * factor).clamp(0, 1)


def adjust_contrast(image: Tensor, factor: float) -> Tensor:
    """0 is the image's mean grey, 1 is the image."""
    return blend(image, _grey(image).mean(dim=(-3, -2, -1), keepdim=True), factor)


def adjust_saturation(image: Tensor, factor: float) -> Tensor:
    """0 is grey, 1 is the image; an image of one channel is unchanged."""
    return blend(image, _grey(image), factor) if image.shape[-3] == 3 else image


def adjust_hue(image: Tensor, turn: float) -> Tensor:
    """Turn colours around the wheel, by -0.5 to 0.5 of it; an image of one channel is unchanged."""
    if image.shape[-3] == 1:
        return image
    red, green, blue = image.unbind(-3)
    value = image.amax(-3)
    chroma = value - image.amin(-3)
    # Greys have no hue: any will do, since it is multiplied by a chroma of zero.
    divisor = torch.where(chroma == 0, 1, chroma)
    sextant = torch.where(
        value == red,
        (green - blue) / divisor,
        torch.where(value == green, 2 + (blue - red) / divisor, 4 + (red - green) / divisor),
    )
    # Where each channel lies on the wheel: near it takes nothing from the value, opposite it takes all the chroma.
    away = (torch.stack([sextant + 5, sextant + 3, sextant + 1], dim=-3) + 6 * turn).remainder(6)
    taken = torch.minimum(away, 4 - away).clamp(0, 1)
    return (value.unsqueeze(-3) - chroma.unsqueeze(-3) * taken).clamp(0, 1)


def adjust_gamma(image: Tensor, gamma: float) -> Tensor:
    """Below 1 is brighter, above 1 is darker; black and white are unchanged."""
    return image.clamp(0, 1) ** gamma


def light_with(image: Tensor, temperature: float) -> Tensor:
    """As if lit by a black body of this temperature in kelvin, at the same green; one channel is unchanged."""
    if image.shape[-3] == 1:
        return image
    red, green, blue = (float(np.interp(temperature, TEMPERATURES, channel)) for channel in (RED, GREEN, BLUE))
    return (image * image.new_tensor([red / green, 1.0, blue / green]).view(3, 1, 1)).clamp(0, 1)


def _grey(image: Tensor) -> Tensor:
    if image.shape[-3] == 1:
        return image
    red, green, blue = image.split(1, dim=-3)
    return 0.2989 * red + 0.587 * green + 0.114 * blue
