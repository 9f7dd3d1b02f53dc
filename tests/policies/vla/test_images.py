"""Images in the size of a vision tower."""

from __future__ import annotations

import pytest
import torch

from yardarm.policies.vla.images import fit_between_bars, fit_to_corner
from yardarm.policies.vla.vision import joined_patches


@pytest.mark.parametrize(("height", "width"), [(48, 64), (64, 48), (20, 30), (100, 100)])
def test_proportions_are_kept_and_bars_are_left_and_above(height: int, width: int) -> None:
    fitted = fit_to_corner(torch.ones(2, 3, height, width), 64, 64)
    assert fitted.shape == (2, 3, 64, 64)
    ratio = max(height, width) / 64
    inner = fitted[0, 0].bool()
    assert inner.sum() == int(height / ratio) * int(width / ratio)
    assert inner[-1, -1]
    assert inner[0, 0] == (height == width)


def test_black_bars_on_both_sides_have_the_odd_line_at_the_end() -> None:
    fitted = fit_between_bars(torch.ones(1, 3, 45, 64), 64, 64)[0, 0]
    rows = fitted.bool().all(dim=1)
    assert rows.tolist() == [False] * 9 + [True] * 45 + [False] * 10


def test_an_image_that_fits_stays_as_it_is() -> None:
    image = torch.rand(1, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    assert torch.equal(fit_to_corner(image, 32, 32), image)
    assert torch.equal(fit_between_bars(image, 32, 32), image)


def test_squares_of_patches_become_tokens() -> None:
    patches = torch.arange(16.0).reshape(1, 16, 1)  # four rows of four
    assert joined_patches(patches, 2)[0].tolist() == [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]
