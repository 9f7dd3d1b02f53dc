"""Image transforms, held against torchvision's functions and LeRobot's draws.

`tests/golden/image_transforms.npz` was recorded with torchvision 0.28 and the LeRobot that uses it, from three small
pictures of bytes / 255 ("photo", "grey" and "batch", which are in it). Each other entry is an output, and its name says
of what, as `function|picture|arguments in JSON`:

- a function of ours with our arguments: the output of the one of that name in `torchvision.transforms.v2.functional`
  (nearest interpolation and no fill for `affine`);
- `lerobot`: of LeRobot's `make_transform_from_config(ImageTransformConfig(type, kwargs))`, after torch was seeded;
- `defaults`: of LeRobot's `ImageTransforms(ImageTransformsConfig(enable=True, random_order))`, after the same.

JPEGCompression is not in it: that torchvision could not load its codec. It is held against what JPEG does.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from yardarm.datasets.transforms import ImageTransformConfig, ImageTransforms, ImageTransformsConfig, colour, spatial
from yardarm.datasets.transforms.kinds import KINDS, make_transform
from yardarm.errors import UsageError

GOLDEN = dict(np.load(Path(__file__).parents[1] / "golden" / "image_transforms.npz"))
PICTURES = {name: torch.from_numpy(value) for name, value in GOLDEN.items() if "|" not in name}
# What each kind needs to be made, and values that are far from doing nothing.
STRONG: dict[str, dict[str, Any]] = {
    **{kind: {} for kind in KINDS},
    "ColorJitter": {"brightness": 0.9, "contrast": 0.9, "saturation": 0.9, "hue": 0.5},
    "SharpnessJitter": {"sharpness": 3},
    "RandomAffine": {"degrees": 90, "translate": [0.3, 0.3], "scale": [0.5, 2], "shear": [-9, 9, -9, 9]},
    "GaussianBlur": {"kernel_size": [3, 5]},
}


def recorded(*functions: str) -> list[str]:
    return [name for name in GOLDEN if name.split("|")[0] in functions]


def arguments(case: str) -> tuple[Tensor, dict[str, Any]]:
    _, picture, text = case.split("|")
    return PICTURES[picture], json.loads(text)


def only(kind: str, **kwargs: Any) -> ImageTransformsConfig:
    return ImageTransformsConfig(enable=True, tfs={"mine": ImageTransformConfig(type=kind, kwargs=kwargs)})


def seeded(transform: Any, image: Tensor, seed: int = 0) -> Tensor:
    torch.manual_seed(seed)
    return transform(image)


def share_of_other_pixels(image: Tensor, expected: np.ndarray) -> float:
    return float((np.abs(image.numpy() - expected) > 1e-5).mean())


@pytest.mark.parametrize(
    "case",
    recorded(
        *("adjust_brightness", "adjust_contrast", "adjust_saturation", "adjust_hue", "adjust_gamma"),
        *("adjust_sharpness", "gaussian_blur"),
    ),
)
def test_amounts_mean_what_they_mean_in_torchvision(case: str) -> None:
    image, kwargs = arguments(case)
    name = case.split("|")[0]
    function = getattr(colour, name, None) or getattr(spatial, name)
    np.testing.assert_allclose(function(image, **kwargs).numpy(), GOLDEN[case], atol=1e-5)


@pytest.mark.parametrize("case", recorded("affine"))
def test_pixels_move_where_torchvision_moves_them(case: str) -> None:
    image, kwargs = arguments(case)
    # A pixel halfway between two may take either.
    assert share_of_other_pixels(spatial.affine(image, **kwargs), GOLDEN[case]) < 0.005


@pytest.mark.parametrize("case", recorded("lerobot"))
def test_the_same_seed_draws_what_lerobot_draws(case: str) -> None:
    image, drawn = arguments(case)
    transform = make_transform(drawn["type"], drawn["kwargs"])
    assert share_of_other_pixels(seeded(transform, image, drawn["seed"]), GOLDEN[case]) < 0.005


# Torch picks by drawing exponentials, which it does in another way without MKL.
@pytest.mark.skipif(not torch.backends.mkl.is_available(), reason="recorded with a torch that has MKL")
@pytest.mark.parametrize("case", recorded("defaults"))
def test_the_same_seed_picks_what_lerobot_picks(case: str) -> None:
    image, drawn = arguments(case)
    transforms = ImageTransforms(ImageTransformsConfig(enable=True, random_order=drawn["random_order"]))
    assert share_of_other_pixels(seeded(transforms, image, drawn["seed"]), GOLDEN[case]) < 0.005


def test_the_defaults_are_those_of_lerobot() -> None:
    config = ImageTransformsConfig()
    assert (config.enable, config.max_num_transforms, config.random_order) == (False, 3, False)
    assert {name: (one.weight, one.type, one.kwargs) for name, one in config.tfs.items()} == {
        "brightness": (1.0, "ColorJitter", {"brightness": (0.8, 1.2)}),
        "contrast": (1.0, "ColorJitter", {"contrast": (0.8, 1.2)}),
        "saturation": (1.0, "ColorJitter", {"saturation": (0.5, 1.5)}),
        "hue": (1.0, "ColorJitter", {"hue": (-0.05, 0.05)}),
        "sharpness": (1.0, "SharpnessJitter", {"sharpness": (0.5, 1.5)}),
        "affine": (1.0, "RandomAffine", {"degrees": (-5.0, 5.0), "translate": (0.05, 0.05)}),
    }


def test_a_config_needs_no_torch() -> None:
    code = "import sys; from yardarm.datasets.transforms import ImageTransformsConfig; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_disabled_transforms_leave_anything_alone_and_draw_nothing() -> None:
    depth = torch.zeros(4, 4, dtype=torch.int16)
    before = torch.get_rng_state()
    assert ImageTransforms(ImageTransformsConfig())(depth) is depth
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"Identity"}))
def test_every_kind_changes_images_and_only_its_copy(kind: str) -> None:
    image = PICTURES["photo"].clone()
    changed = seeded(ImageTransforms(only(kind, **STRONG[kind])), image)
    assert not torch.equal(changed, image)
    assert torch.equal(image, PICTURES["photo"])


@pytest.mark.parametrize("kind", sorted(KINDS))
@given(
    channels=st.sampled_from([1, 3]),
    height=st.integers(3, 20),
    width=st.integers(3, 20),
    leading=st.lists(st.integers(1, 2), max_size=2),
    dtype=st.sampled_from([torch.float32, torch.float64, torch.bfloat16, torch.uint8]),
    seed=st.integers(0, 2**32),
)
def test_every_kind_keeps_shape_dtype_and_range(
    kind: str, channels: int, height: int, width: int, leading: list[int], dtype: torch.dtype, seed: int
) -> None:
    torch.manual_seed(seed)
    image = torch.rand(*leading, channels, height, width)
    image = (image * 255).round().to(dtype) if dtype == torch.uint8 else image.to(dtype)
    changed = ImageTransforms(only(kind, **STRONG[kind]))(image)
    assert (changed.shape, changed.dtype) == (image.shape, dtype)
    assert changed.isfinite().all()
    assert 0 <= changed.min() <= changed.max() <= (255 if dtype == torch.uint8 else 1 + 1e-6)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_bytes_become_what_floats_become(kind: str) -> None:
    transforms = ImageTransforms(only(kind, **STRONG[kind]))
    image = PICTURES["photo"]
    of_bytes = seeded(transforms, (image * 255).round().to(torch.uint8))
    assert torch.equal(of_bytes, (seeded(transforms, image) * 255).round().to(torch.uint8))


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"GaussianNoise"}))
def test_one_draw_holds_for_all_frames(kind: str) -> None:
    frames = PICTURES["photo"].expand(2, 4, -1, -1, -1)
    changed = seeded(ImageTransforms(only(kind, **STRONG[kind])), frames)
    np.testing.assert_allclose(changed, changed[:1, :1].expand_as(changed), atol=1e-6)


def test_noise_differs_from_frame_to_frame() -> None:
    first, second = seeded(ImageTransforms(only("GaussianNoise")), PICTURES["photo"].expand(2, -1, -1, -1))
    assert not torch.equal(first, second)


def test_every_call_draws_anew_and_a_seed_repeats_it() -> None:
    transforms = ImageTransforms(ImageTransformsConfig(enable=True))
    image = PICTURES["photo"]
    torch.manual_seed(7)
    first, second = transforms(image), transforms(image)
    assert not torch.equal(first, second)
    assert torch.equal(seeded(transforms, image, 7), first)


def test_transforms_can_be_sent_to_a_loaders_workers() -> None:
    tfs = {kind: ImageTransformConfig(type=kind, kwargs=STRONG[kind]) for kind in KINDS}
    transforms = ImageTransforms(ImageTransformsConfig(enable=True, max_num_transforms=len(tfs), tfs=tfs))
    sent = pickle.loads(pickle.dumps(transforms))
    assert torch.equal(seeded(sent, PICTURES["photo"]), seeded(transforms, PICTURES["photo"]))


def test_a_jpeg_of_less_quality_is_further_from_the_image() -> None:
    errors = [
        float((spatial.compress(PICTURES["batch"], quality) - PICTURES["batch"]).abs().mean())
        for quality in (100, 60, 5)
    ]
    assert 0 < errors[0] < errors[1] < errors[2] < 0.3


def weighted(**weights: float) -> dict[str, ImageTransformConfig]:
    return {name: ImageTransformConfig(weight=weight) for name, weight in weights.items()}


@given(most=st.integers(1, 9), random_order=st.booleans(), seed=st.integers(0, 2**32))
def test_so_many_are_picked_and_none_twice(most: int, random_order: bool, seed: int) -> None:
    tfs = weighted(a=1, b=5, off=0, c=0.01, d=1)
    transforms = ImageTransforms(ImageTransformsConfig(True, most, random_order, tfs))
    torch.manual_seed(seed)
    picked = transforms.pick()
    assert len(picked) == len(set(picked)) == min(most, 4)
    assert "off" not in picked
    assert random_order or picked == sorted(picked)


def test_a_random_order_is_random() -> None:
    torch.manual_seed(0)
    transforms = ImageTransforms(ImageTransformsConfig(True, 3, True, weighted(a=1, b=1, c=1)))
    assert len({tuple(transforms.pick()) for _ in range(100)}) == 6


def test_weights_say_how_often() -> None:
    torch.manual_seed(0)
    transforms = ImageTransforms(ImageTransformsConfig(True, 1, tfs=weighted(a=1, b=3)))
    picked = Counter(transforms.pick()[0] for _ in range(2000))
    assert 0.70 < picked["b"] / 2000 < 0.80


def test_picked_transforms_are_applied_in_their_order() -> None:
    black = ImageTransformConfig(type="ColorJitter", kwargs={"brightness": [0, 0]})
    holes = ImageTransformConfig(type="CoarseDropout", kwargs={"fill_value": 1.0})
    image = torch.full((3, 20, 20), 0.5)
    black_first = ImageTransforms(ImageTransformsConfig(True, tfs={"black": black, "holes": holes}))(image)
    holes_first = ImageTransforms(ImageTransformsConfig(True, tfs={"holes": holes, "black": black}))(image)
    assert black_first.max() == 1
    assert holes_first.max() == 0


def test_a_transform_without_weight_may_be_anything() -> None:
    tfs = {**weighted(a=1), "later": ImageTransformConfig(weight=0, type="RandomPerspective")}
    assert ImageTransforms(ImageTransformsConfig(True, tfs=tfs)).pick() == ["a"]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (ImageTransformsConfig(max_num_transforms=0), "max_num_transforms must be a whole number of at least 1, got 0"),
        (
            ImageTransformsConfig(max_num_transforms=-1),
            "max_num_transforms must be a whole number of at least 1, got -1",
        ),
        (ImageTransformsConfig(True, tfs={}), "enabled, but none of tfs={} has a weight above 0; give one a weight"),
        (ImageTransformsConfig(True, tfs=weighted(a=0, b=0)), "none of a, b has a weight above 0; give one a weight"),
        (
            ImageTransformsConfig(tfs=weighted(a=-1)),
            "image transform 'a': weight must be a number of at least 0, got -1",
        ),
        (ImageTransformsConfig(tfs=weighted(a=float("nan"))), "weight must be a number of at least 0, got nan"),
    ],
)
def test_a_choice_of_nothing_is_refused(config: ImageTransformsConfig, message: str) -> None:
    with pytest.raises(UsageError) as refusal:
        ImageTransforms(config)
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("kind", "kwargs", "message"),
    [
        (
            "ColourJitter",
            {},
            "unknown type 'ColourJitter'; did you mean 'ColorJitter'? Known: CoarseDropout, ColorJitter,",
        ),
        (
            "ColorJitter",
            {"brightnes": 1},
            "has no 'brightnes'; did you mean 'brightness'? It takes: brightness, contrast,",
        ),
        ("Identity", {"amount": 1}, "Identity has no 'amount'; It takes: nothing."),
        ("SharpnessJitter", {}, "SharpnessJitter needs kwargs.sharpness, got {}"),
        ("ColorJitter", {"brightness": -0.1}, "ColorJitter's brightness must be a number of at least 0, got -0.1"),
        (
            "ColorJitter",
            {"contrast": [1.2, 0.8]},
            "contrast must be [low, high] with the lower end first, got [1.2, 0.8]",
        ),
        (
            "ColorJitter",
            {"saturation": [0.5]},
            "saturation must be a number of at least 0, or [low, high] of two such numbers, got [0.5]",
        ),
        ("ColorJitter", {"saturation": "more"}, "of at least 0, or [low, high] of two such numbers, got 'more'"),
        ("ColorJitter", {"hue": 0.7}, "hue must be a number from 0 to 0.5, got 0.7"),
        (
            "ColorJitter",
            {"hue": [-0.6, 0]},
            "hue must be a number from -0.5 to 0.5, or [low, high] of two such numbers, got [-0.6, 0]",
        ),
        (
            "SharpnessJitter",
            {"sharpness": True},
            "sharpness must be a number of at least 0, or [low, high] of two such numbers, got True",
        ),
        ("RandomAffine", {"degrees": -3}, "RandomAffine's degrees must be a number of at least 0, got -3"),
        (
            "RandomAffine",
            {"degrees": 3, "translate": 0.1},
            "translate must be [x, y], each a number from 0 to 1, got 0.1",
        ),
        ("RandomAffine", {"degrees": 3, "translate": [0, 2]}, "[x, y], each a number from 0 to 1, got [0, 2]"),
        (
            "RandomAffine",
            {"degrees": 3, "scale": [0, 1]},
            "scale must be a number above 0, or [low, high] of two such numbers, got [0, 1]",
        ),
        ("RandomAffine", {"degrees": 3, "shear": [0, 1, 3, 2]}, "with the lower end first, got [3, 2]"),
        ("GaussianBlur", {"kernel_size": 4}, "GaussianBlur's kernel_size must be odd, so that it has a middle, got 4"),
        (
            "GaussianBlur",
            {"kernel_size": 3, "sigma": 0},
            "sigma must be a number above 0, or [low, high] of two such numbers, got 0",
        ),
        ("GaussianNoise", {"std": -1}, "GaussianNoise's std must be a number of at least 0, got -1"),
        ("GammaCorrection", {"gamma": 0}, "GammaCorrection's gamma must be a number above 0, got 0"),
        ("MotionBlur", {"kernel_size": 4}, "must be odd, or a [low, high] that contains an odd one, got 4"),
        (
            "JPEGCompression",
            {"quality": [0, 50]},
            "must be a whole number from 1 to 100, or [low, high] of two such numbers, got [0, 50]",
        ),
        (
            "JPEGCompression",
            {"quality": 50.5},
            "must be a whole number from 1 to 100, or [low, high] of two such numbers, got 50.5",
        ),
        ("CoarseDropout", {"max_width_frac": 0}, "max_width_frac must be a number above 0 and up to 1, got 0"),
        (
            "PlanckianJitter",
            {"temperature": 100},
            "must be a whole number from 3000 to 15000, or [low, high] of two such numbers, got 100",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_any_image(kind: str, kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as refusal:
        ImageTransforms(only(kind, **kwargs))
    assert str(refusal.value).startswith("image transform 'mine': ")
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "image",
    [torch.zeros(8, 8), torch.zeros(4, 8, 8), torch.zeros(3, 8, 8, dtype=torch.int32)],
    ids=lambda image: str(image.shape),
)
def test_what_is_no_image_is_refused(image: Tensor) -> None:
    with pytest.raises(UsageError, match=r"need floats in 0…1 or uint8, .* got torch\.\w+ shaped \["):
        ImageTransforms(ImageTransformsConfig(enable=True))(image)


def test_a_blur_wider_than_the_image_is_refused() -> None:
    with pytest.raises(UsageError, match=r"kernel_size \[21, 21\] is too large for an image of 9x12 pixels"):
        ImageTransforms(only("GaussianBlur", kernel_size=21))(PICTURES["grey"])
