from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from yardarm.datasets.statistics import QUANTILES, PixelCounts, aggregate, number_stats

NUMBERS = st.lists(
    arrays.arrays(np.float64, st.tuples(st.integers(1, 30), st.just(2)), elements=st.floats(-100, 100, width=32)),
    min_size=1,
    max_size=5,
)


@settings(deadline=None)
@given(NUMBERS)
def test_parts_together_are_the_whole(parts: list[np.ndarray]) -> None:
    together = aggregate([{"x": number_stats(part)} for part in parts])["x"]
    whole = number_stats(np.concatenate(parts))
    for name in ("min", "max", "count"):
        assert np.array_equal(together[name], whole[name])
    assert np.allclose(together["mean"], whole["mean"])
    assert np.allclose(together["std"], whole["std"], atol=1e-6)
    for name in QUANTILES:
        assert (together[name] >= whole["min"]).all()
        assert (together[name] <= whole["max"]).all()
    ordered = np.stack([together[name] for name in QUANTILES])
    assert (np.diff(ordered, axis=0) >= -1e-9).all()


@settings(deadline=None)
@given(arrays.arrays(np.float64, (20, 3), elements=st.floats(-10, 10)), st.integers(1, 4))
def test_equal_parts_have_the_quantiles_of_one(values: np.ndarray, copies: int) -> None:
    own = number_stats(values)
    together = aggregate([{"x": own}] * copies)["x"]
    for name in QUANTILES:
        assert np.allclose(together[name], own[name], atol=1e-6)


def test_quantiles_of_many_episodes_are_near_the_true_ones() -> None:
    generator = np.random.default_rng(0)
    parts = [generator.normal(generator.normal(0, 2), 1, (80, 1)) for _ in range(50)]
    together = aggregate([{"x": number_stats(part)} for part in parts])["x"]
    whole = number_stats(np.concatenate(parts))
    for name in ("q10", "q50", "q90"):
        assert abs(together[name] - whole[name]) < 0.15
    for name in ("q01", "q99"):
        assert abs(together[name] - whole[name]) < 0.4


def test_a_value_that_most_frames_have_is_the_median() -> None:
    zeros, ones = np.zeros((60, 1)), np.concatenate([np.zeros((20, 1)), np.ones((20, 1))])
    together = aggregate([{"x": number_stats(zeros)}, {"x": number_stats(ones)}])["x"]
    assert together["q50"][0] == pytest.approx(0, abs=0.05)
    assert together["q99"][0] == 1


@given(st.integers(1, 3), st.integers(0, 2**32))
def test_pictures_are_counted_exactly(frames: int, seed: int) -> None:
    pictures = np.random.default_rng(seed).integers(0, 256, (frames, 8, 9, 3), dtype=np.uint8)
    counts = PixelCounts()
    for picture in pictures:
        counts.add(picture)
    stats = counts.stats()
    pixels = pictures.reshape(-1, 3) / 255
    assert np.allclose(stats["mean"].ravel(), pixels.mean(axis=0))
    assert np.allclose(stats["std"].ravel(), pixels.std(axis=0))
    assert np.array_equal(stats["min"].ravel(), pixels.min(axis=0))
    assert np.array_equal(stats["max"].ravel(), pixels.max(axis=0))
    assert np.allclose(stats["q50"].ravel(), np.quantile(pixels, 0.5, axis=0, method="inverted_cdf"))
    assert stats["mean"].shape == (3, 1, 1)
    assert stats["count"].tolist() == [frames]


def test_a_matrix_is_counted_along_its_last_axis_as_lerobot_does() -> None:
    stats = number_stats(np.arange(24.0).reshape(4, 2, 3))
    assert stats["min"].tolist() == [0, 1, 2]
    assert stats["max"].tolist() == [21, 22, 23]
    assert stats["count"].tolist() == [4]


def test_large_pictures_are_counted_on_a_grid() -> None:
    counts = PixelCounts()
    counts.add(np.tile(np.arange(480, dtype=np.uint8)[:, None, None] // 2, (1, 640, 3)))
    assert counts.stats()["count"].tolist() == [1]
    assert counts._counts.sum() == 3 * 120 * 160
