"""The kinds of transforms, by LeRobot's and torchvision's names: their options, and how they draw amounts."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from yardarm.datasets.transforms import colour, spatial
from yardarm.datasets.transforms.limits import Limits, Span, is_number
from yardarm.errors import UsageError, nearest

__all__ = ["KINDS", "Transform", "make_transform"]

Transform = Callable[[Tensor], Tensor]

ANY = Limits()
FACTOR = Limits(0)
FRACTION = Limits(0, 1)
POSITIVE = Limits(0, low_is_in=False)
PART = Limits(0, 1, low_is_in=False)
COUNT = Limits(1, whole=True)


class Identity:
    """Leaves images unchanged, so that fewer of the others are picked."""

    def __call__(self, image: Tensor) -> Tensor:
        """The image itself."""
        return image


class ColorJitter:
    """Changes brightness, contrast, saturation and hue, in random order."""

    def __init__(self, brightness: Any = None, contrast: Any = None, saturation: Any = None, hue: Any = None) -> None:
        self.brightness = self._factors("brightness", brightness)
        self.contrast = self._factors("contrast", contrast)
        self.saturation = self._factors("saturation", saturation)
        self.hue = None if hue is None else Limits(-0.5, 0.5).span_around(0.0, "hue", hue)

    def __call__(self, image: Tensor) -> Tensor:
        """The image with changed colours."""
        order = torch.randperm(4).tolist()
        steps = [
            (colour.adjust_brightness, self.brightness),
            (colour.adjust_contrast, self.contrast),
            (colour.adjust_saturation, self.saturation),
            (colour.adjust_hue, self.hue),
        ]
        amounts = [span.draw() if span else None for _, span in steps]
        for number in order:
            amount = amounts[number]
            if amount is not None:
                image = steps[number][0](image, amount)
        return image

    @staticmethod
    def _factors(name: str, value: Any) -> Span | None:
        return None if value is None else FACTOR.span_around(1.0, name, value)


class SharpnessJitter:
    """Blurs a little, or sharpens."""

    def __init__(self, sharpness: Any) -> None:
        self.sharpness = FACTOR.span_around(1.0, "sharpness", sharpness)

    def __call__(self, image: Tensor) -> Tensor:
        """The image, blurred or sharpened."""
        return spatial.adjust_sharpness(image, self.sharpness.draw())


class RandomAffine:
    """Rotates about the centre, shifts by fractions of the size, scales and shears; the outside is black."""

    def __init__(self, degrees: Any, translate: Any = None, scale: Any = None, shear: Any = None) -> None:
        self.degrees = ANY.span_around(0.0, "degrees", degrees)
        self.translate = None if translate is None else FRACTION.pair("translate", translate)
        self.scale = None if scale is None else POSITIVE.span("scale", scale)
        # Four numbers are a range for each axis, fewer are for x alone.
        both = isinstance(shear, list | tuple) and len(shear) == 4
        self.shear_x = None if shear is None else ANY.span_around(0.0, "shear", shear[:2] if both else shear)
        self.shear_y = ANY.span("shear[2:]", shear[2:]) if both else None

    def __call__(self, image: Tensor) -> Tensor:
        """The image, moved."""
        angle = self.degrees.draw()
        height, width = image.shape[-2:]
        move = self._move(0, width), self._move(1, height)
        scale = self.scale.draw() if self.scale else 1.0
        shear_x = self.shear_x.draw() if self.shear_x else 0.0
        shear_y = self.shear_y.draw() if self.shear_y else 0.0
        return spatial.affine(image, angle, move, scale, (shear_x, shear_y))

    def _move(self, axis: int, size: int) -> int:
        if self.translate is None:
            return 0
        reach = self.translate[axis] * size
        return round(Span(-reach, reach).draw())


class GaussianBlur:
    """Blurs evenly; `sigma` is in pixels."""

    def __init__(self, kernel_size: Any, sigma: Any = (0.1, 2.0)) -> None:
        if is_number(kernel_size):
            x = y = COUNT.number("kernel_size", kernel_size)
        else:
            x, y = COUNT.pair("kernel_size", kernel_size)
        if x % 2 == 0 or y % 2 == 0:
            raise UsageError(f"kernel_size must be odd, so that it has a middle, got {kernel_size!r}")
        self.kernel_size = int(x), int(y)
        self.sigma = POSITIVE.span("sigma", sigma)

    def __call__(self, image: Tensor) -> Tensor:
        """The image, out of focus."""
        return spatial.gaussian_blur(image, self.kernel_size, self.sigma.draw())


class GaussianNoise:
    """Adds sensor noise; `std` is on the scale 0…255, and one number means any value up to it."""

    def __init__(self, std: Any = (5.0, 25.0)) -> None:
        self.std = Span(0.0, FACTOR.number("std", std)) if is_number(std) else FACTOR.span("std", std)

    def __call__(self, image: Tensor) -> Tensor:
        """The image with noise."""
        std = self.std.draw() / 255
        seed = torch.randint(0, torch.iinfo(torch.int64).max, ()).item()
        return spatial.add_noise(image, std, int(seed))


class GammaCorrection:
    """Changes the exposure, as often brighter as darker; one number means any value between it and its inverse."""

    def __init__(self, gamma: Any = (0.5, 2.0)) -> None:
        if is_number(gamma):
            gamma = sorted((POSITIVE.number("gamma", gamma), 1 / gamma))
        self.gamma = POSITIVE.span("gamma", gamma)

    def __call__(self, image: Tensor) -> Tensor:
        """The image at another exposure."""
        return colour.adjust_gamma(image, math.exp(Span(math.log(self.gamma.low), math.log(self.gamma.high)).draw()))


class MotionBlur:
    """Blurs along a straight line in any direction; `kernel_size` is its length in pixels, an odd number."""

    def __init__(self, kernel_size: Any = (3, 11)) -> None:
        span = COUNT.span("kernel_size", kernel_size)
        # The odd lengths are 2 n + 1.
        self.halves = Span(span.low // 2, (span.high - 1) // 2)
        if self.halves.low > self.halves.high:
            raise UsageError(f"kernel_size must be odd, or a [low, high] that contains an odd one, got {kernel_size!r}")

    def __call__(self, image: Tensor) -> Tensor:
        """The image of something that moved."""
        length = 2 * self.halves.draw_whole() + 1
        return spatial.motion_blur(image, length, Span(0, 360).draw())


class JPEGCompression:
    """Adds the artefacts of JPEG, with a quality from 100 (hardly any) down to 1."""

    def __init__(self, quality: Any = (15, 75)) -> None:
        self.quality = Limits(1, 100, whole=True).span("quality", quality)

    def __call__(self, image: Tensor) -> Tensor:
        """The image after JPEG."""
        return spatial.compress(image, self.quality.draw_whole())


class GaussianPatchBrightness:
    """Adds spots of brighter or darker light; `sigma_range` is relative to the image's size."""

    def __init__(
        self, num_patches: Any = (1, 4), sigma_range: Any = (0.05, 0.25), factor_range: Any = (0.4, 1.6)
    ) -> None:
        self.num_patches = COUNT.span("num_patches", num_patches)
        self.sigma = POSITIVE.span("sigma_range", sigma_range)
        self.factor = FACTOR.span("factor_range", factor_range)

    def __call__(self, image: Tensor) -> Tensor:
        """The image in uneven light."""
        count = self.num_patches.draw_whole()
        centres = torch.rand(count, 2)
        drawn = torch.stack([*centres.unbind(1), self.sigma.draw_many(count), self.factor.draw_many(count)], dim=1)
        return spatial.light_patches(image, [spatial.Patch(*patch) for patch in drawn.tolist()])


class RandomShadow:
    """Shades a vertical band of a third to two thirds of the image by `opacity`, as often darker as brighter."""

    def __init__(self, opacity: Any = (0.3, 0.6)) -> None:
        self.opacity = FRACTION.span("opacity", opacity)

    def __call__(self, image: Tensor) -> Tensor:
        """The image with a shadow or a beam."""
        opacity = self.opacity.draw()
        start = torch.rand(1).item()
        width = Span(1 / 3, 2 / 3).draw()
        sign = -1 if torch.rand(1).item() < 0.5 else 1
        return spatial.shade(image, spatial.Band(start, width, 1 + sign * opacity))


class CoarseDropout:
    """Covers the image with up to `max_holes` rectangles of one value, as if something was in the way."""

    def __init__(
        self,
        max_holes: Any = 8,
        max_height_frac: Any = 0.07,
        max_width_frac: Any = 0.07,
        fill_value: Any = 0.0,
    ) -> None:
        self.holes = Span(1, COUNT.number("max_holes", max_holes))
        self.height = PART.number("max_height_frac", max_height_frac)
        self.width = PART.number("max_width_frac", max_width_frac)
        self.fill = FRACTION.number("fill_value", fill_value)

    def __call__(self, image: Tensor) -> Tensor:
        """The image with holes."""
        count = self.holes.draw_whole()
        sizes = torch.rand(count, 2) * torch.tensor([self.height, self.width])
        holes = torch.cat([sizes, torch.rand(count, 2)], dim=1)
        return spatial.cut_holes(image, [spatial.Hole(*hole) for hole in holes.tolist()], self.fill)


class PlanckianJitter:
    """Makes the light warmer or colder, by a temperature in kelvin."""

    def __init__(self, temperature: Any = (3_000, 15_000)) -> None:
        self.temperature = Limits(3_000, 15_000, whole=True).span("temperature", temperature)

    def __call__(self, image: Tensor) -> Tensor:
        """The image in this light."""
        return colour.light_with(image, self.temperature.draw_whole())


KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        *(CoarseDropout, ColorJitter, GammaCorrection, GaussianBlur, GaussianNoise, GaussianPatchBrightness),
        *(Identity, JPEGCompression, MotionBlur, PlanckianJitter, RandomAffine, RandomShadow, SharpnessJitter),
    )
}


def make_transform(kind: str, options: Mapping[str, Any]) -> Transform:
    """Make a transform that draws its amounts at each call; raise if its options cannot work."""
    if kind not in KINDS:
        raise UsageError(f"unknown type '{kind}'{nearest(kind, KINDS)} Known: {', '.join(KINDS)}.")
    known = inspect.signature(KINDS[kind]).parameters
    for name in options:
        if name not in known:
            raise UsageError(f"{kind} has no '{name}'{nearest(name, known)} It takes: {', '.join(known) or 'nothing'}.")
    for name, parameter in known.items():
        if parameter.default is parameter.empty and name not in options:
            raise UsageError(f"{kind} needs kwargs.{name}, got {dict(options)}")
    try:
        return KINDS[kind](**options)
    except UsageError as error:
        raise UsageError(f"{kind}'s {error}") from None
