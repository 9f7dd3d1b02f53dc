from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yardarm.stats import Interval, PairedCounts, bonett_price, method_difference, seed_spread

RUNS = 2000


def outcomes(
    rng: np.random.Generator, seeds: int, hardness: np.ndarray, between_seeds: float, mean: float = 0.0
) -> np.ndarray:
    """A table: the better a seed and the easier an episode, the likelier a success."""
    level = mean + between_seeds * rng.normal(size=(seeds, 1)) - hardness
    return (rng.random((seeds, len(hardness))) < 1 / (1 + np.exp(-level))).astype(float)


@st.composite
def tables(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Two methods with the same episodes."""
    episodes, rng = draw(st.integers(2, 30)), np.random.default_rng(draw(st.integers(0, 10**6)))
    rates = draw(st.tuples(st.floats(0, 1), st.floats(0, 1)))
    seeds = draw(st.tuples(st.integers(1, 5), st.integers(1, 5)))
    a, b = ((rng.random((count, episodes)) < rate).astype(float) for count, rate in zip(seeds, rates, strict=True))
    return a, b


def test_the_spread_of_seeds_that_differ_as_a_whole() -> None:
    table = np.array([[1.0] * 10, [0.0] * 10, [1.0] * 10])
    spread = seed_spread(table)
    assert spread.mean == pytest.approx(2 / 3)
    assert (spread.lowest, spread.highest) == (0.0, 1.0)
    assert spread.deviation == pytest.approx(np.std([1, 0, 1], ddof=1))
    assert spread.by_chance == pytest.approx(0.0)  # no episode went otherwise than its seed's others


def test_equal_seeds_have_no_spread_and_the_uncertainty_of_their_episodes() -> None:
    one = np.array([1.0] * 30 + [0.0] * 20)
    spread = seed_spread(np.array([one, one, one]))
    assert spread.deviation == 0
    assert spread.lowest == spread.highest == 0.6
    assert spread.interval.half_width == pytest.approx(1.96 * one.std(ddof=1) / np.sqrt(50), rel=0.05)


def test_episodes_that_all_went_one_way_prove_little() -> None:
    solved, failed = np.ones((3, 2)), np.zeros((3, 2))
    assert method_difference(solved, failed).p_value > 0.05
    assert seed_spread(solved).interval.low < 0.6
    assert method_difference(np.ones((3, 50)), np.zeros((3, 50))).p_value < 1e-6


def test_tables_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="the same episodes, got 3 and 1"):
        method_difference(np.eye(3), np.ones((3, 1)))
    with pytest.raises(ValueError, match="at least two training seeds, got 1"):
        seed_spread(np.ones((1, 5)))
    with pytest.raises(ValueError, match=r"got shape \(2, 0\)"):
        seed_spread(np.ones((2, 0)))


def test_what_episodes_alone_would_cause_is_seen_as_that() -> None:
    table = (np.random.default_rng(0).random((20, 400)) < 0.6).astype(float)
    spread = seed_spread(table)
    assert spread.by_chance == pytest.approx(np.sqrt(0.6 * 0.4 / 400), rel=0.05)
    assert spread.deviation == pytest.approx(spread.by_chance, rel=0.4)


@given(pair=tables())
def test_the_mean_lies_in_its_interval_and_among_its_seeds(pair: tuple[np.ndarray, np.ndarray]) -> None:
    spread = seed_spread(np.vstack(pair))
    assert 0 <= spread.interval.low <= spread.mean <= spread.interval.high <= 1
    assert spread.lowest <= spread.mean + 1e-12
    assert spread.mean - 1e-12 <= spread.highest


@given(pair=tables())
def test_failures_mirror_successes(pair: tuple[np.ndarray, np.ndarray]) -> None:
    table = np.vstack(pair)
    spread, other = seed_spread(table), seed_spread(1 - table)
    assert (spread.interval.low, spread.interval.high) == pytest.approx(
        (1 - other.interval.high, 1 - other.interval.low), abs=1e-9
    )
    assert (spread.deviation, spread.by_chance) == pytest.approx((other.deviation, other.by_chance), abs=1e-9)


@given(pair=tables(), paired=st.booleans())
def test_who_is_called_a_does_not_matter(pair: tuple[np.ndarray, np.ndarray], paired: bool) -> None:
    found, other = method_difference(*pair, paired=paired), method_difference(*reversed(pair), paired=paired)
    assert found.difference == pytest.approx(-other.difference)
    assert found.p_value == pytest.approx(other.p_value, abs=1e-9)
    assert (found.interval.low, found.interval.high) == pytest.approx(
        (-other.interval.high, -other.interval.low), abs=1e-9
    )


@given(pair=tables(), paired=st.booleans())
def test_the_interval_holds_zero_just_if_the_test_finds_nothing(
    pair: tuple[np.ndarray, np.ndarray], paired: bool
) -> None:
    found = method_difference(*pair, paired=paired)
    assert -1 <= found.interval.low <= found.difference <= found.interval.high <= 1
    assert 0 <= found.p_value <= 1
    if abs(found.p_value - 0.05) > 1e-6:
        assert (0 in found.interval) == (found.p_value > 0.05)


def test_a_method_does_not_differ_from_itself() -> None:
    table = outcomes(np.random.default_rng(0), 3, np.zeros(50), 0.5)
    assert method_difference(table, table).p_value == 1.0


def test_single_seeds_are_compared_by_their_pairs_alone() -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.random((2, 1, 300)) < np.array([0.7, 0.6])[:, None, None]).astype(float)
    found = method_difference(a, b)
    by_pairs = bonett_price(PairedCounts.of(zip(a[0], b[0], strict=True)))
    assert (found.interval.low, found.interval.high) == pytest.approx((by_pairs.low, by_pairs.high), abs=0.01)


def test_the_same_hard_episodes_are_no_news_to_a_paired_comparison() -> None:
    hardness = np.random.default_rng(2).normal(0, 5, 200)
    a, b = (outcomes(np.random.default_rng(seed), 3, hardness, 0.0, mean) for seed, mean in ((3, 0.5), (4, 0.0)))
    paired, unpaired = method_difference(a, b), method_difference(a, b, paired=False)
    assert paired.difference == unpaired.difference
    assert paired.interval.half_width < unpaired.interval.half_width / 2


def test_unpaired_methods_may_have_different_numbers_of_episodes() -> None:
    a, b = np.eye(4)[:3], np.tile([1.0, 0.0, 1.0], (2, 2))
    assert method_difference(a, b, paired=False).difference == pytest.approx(1 / 4 - 2 / 3)


def test_chance_is_counted_once_though_seeds_and_episodes_both_show_it() -> None:
    a, b = (np.random.default_rng(6).random((2, 20, 400)) < 0.6).astype(float)
    expected = 1.96 * np.sqrt(2 * 0.6 * 0.4 / (20 * 400))
    for paired in (True, False):
        assert method_difference(a, b, paired).interval.half_width == pytest.approx(expected, rel=0.2)


def test_seeds_that_lie_far_apart_hide_a_difference_that_their_episodes_would_show() -> None:
    a = np.array([[1.0] * 100, [1.0] * 100, [0.0] * 100])
    b = np.array([[0.0] * 100, [0.0] * 100, [1.0] * 100])
    assert method_difference(a, b).p_value > 0.3
    assert method_difference(a[:1], b[:1]).p_value < 0.001


def test_more_confidence_widens_both_intervals() -> None:
    rng = np.random.default_rng(5)
    a, b = outcomes(rng, 3, np.zeros(40), 0.5), outcomes(rng, 3, np.zeros(40), 0.5)
    assert seed_spread(a, 0.99).interval.half_width > seed_spread(a, 0.9).interval.half_width
    assert (
        method_difference(a, b, confidence=0.99).interval.half_width
        > method_difference(a, b, confidence=0.9).interval.half_width
    )


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [3, 5])
@pytest.mark.parametrize("between_seeds", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("paired", [True, False])
def test_equal_methods_are_rarely_told_apart(seeds: int, between_seeds: float, paired: bool) -> None:
    rng, found = np.random.default_rng(seeds), 0
    for _ in range(RUNS):
        hardness, others = rng.normal(0, 1.5, (2, 100))
        a = outcomes(rng, seeds, hardness, between_seeds)
        b = outcomes(rng, seeds, hardness if paired else others, between_seeds)
        found += method_difference(a, b, paired).p_value <= 0.05
    print(f"methods, {seeds} seeds, spread {between_seeds}, {paired=}: errs in {found / RUNS:.4f}")
    assert found / RUNS <= 0.07


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seeds", "least"),
    # Two seeds that happen to be alike hide how far others would lie apart; nothing in their table tells of it.
    [(2, 0.86), (3, 0.89), (5, 0.93)],
)
@pytest.mark.parametrize("between_seeds", [0.0, 0.3, 1.0])
def test_the_mean_of_a_method_is_covered_for_new_seeds(seeds: int, least: float, between_seeds: float) -> None:
    rng, held = np.random.default_rng(seeds), 0
    for _ in range(RUNS):
        # By symmetry, the rate over all seeds and episodes is a half.
        interval: Interval = seed_spread(outcomes(rng, seeds, rng.normal(0, 1.5, 100), between_seeds)).interval
        held += 0.5 in interval
    print(f"seed spread, {seeds} seeds, spread {between_seeds}: {held / RUNS:.4f}")
    assert held / RUNS >= least
