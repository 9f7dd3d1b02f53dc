from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stats.chances import coverage_of_one_rate
from yardarm.stats import Interval, clopper_pearson, wilson

METHODS = [wilson, clopper_pearson]
TRIALS = (5, 10, 20, 50, 100, 200, 500)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    # Values of Newcombe (1998), table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0000, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_has_the_published_values(successes: int, trials: int, low: float, high: float) -> None:
    interval = wilson(successes, trials)
    assert (round(interval.low, 4), round(interval.high, 4)) == (low, high)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    # The same table, method 5.
    [(81, 263, 0.2527, 0.3676), (15, 148, 0.0578, 0.1617), (0, 20, 0.0000, 0.1684), (1, 29, 0.0009, 0.1776)],
)
def test_clopper_pearson_has_the_published_values(successes: int, trials: int, low: float, high: float) -> None:
    interval = clopper_pearson(successes, trials)
    assert (round(interval.low, 4), round(interval.high, 4)) == (low, high)


def test_after_failures_only_clopper_pearson_can_be_worked_out_by_hand() -> None:
    assert clopper_pearson(0, 10).high == pytest.approx(1 - 0.025**0.1)


@settings(max_examples=20)
@given(trials=st.integers(1, 2000), fraction=st.floats(0, 1), confidence=st.sampled_from([0.8, 0.95, 0.99]))
def test_statsmodels_agrees(trials: int, fraction: float, confidence: float) -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    successes = round(trials * fraction)
    for method, name in ((wilson, "wilson"), (clopper_pearson, "beta")):
        own = method(successes, trials, confidence)
        theirs = proportion.proportion_confint(successes, trials, 1 - confidence, method=name)
        assert (own.low, own.high) == pytest.approx(theirs, abs=1e-9)


@given(trials=st.integers(0, 1000), fraction=st.floats(0, 1), confidence=st.floats(0.5, 0.999))
def test_an_interval_holds_its_rate_and_mirrors(trials: int, fraction: float, confidence: float) -> None:
    successes = round(trials * fraction)
    for method in METHODS:
        interval = method(successes, trials, confidence)
        mirrored = method(trials - successes, trials, confidence)
        assert 0 <= interval.low <= (successes / trials if trials else 0.5) <= interval.high <= 1
        assert interval.low == pytest.approx(1 - mirrored.high, abs=1e-12)


@given(trials=st.integers(1, 500), fraction=st.floats(0, 1))
def test_more_trials_of_the_same_rate_narrow_the_interval(trials: int, fraction: float) -> None:
    successes = round(trials * fraction)
    for method in METHODS:
        assert method(2 * successes, 2 * trials).half_width < method(successes, trials).half_width


@given(trials=st.integers(1, 500), fraction=st.floats(0, 1))
def test_more_confidence_widens_the_interval_to_both_sides(trials: int, fraction: float) -> None:
    successes = round(trials * fraction)
    for method in METHODS:
        wide, narrow = method(successes, trials, 0.99), method(successes, trials, 0.9)
        assert wide.low <= narrow.low
        assert narrow.high <= wide.high


@given(trials=st.integers(1, 500), fraction=st.floats(0, 1))
def test_one_more_success_moves_both_ends_up(trials: int, fraction: float) -> None:
    successes = min(round(trials * fraction), trials - 1)
    for method in METHODS:
        before, after = method(successes, trials), method(successes + 1, trials)
        assert before.low < after.low
        assert before.high < after.high


def test_without_trials_nothing_is_known() -> None:
    for method in METHODS:
        assert method(0, 0) == Interval(0.0, 1.0)


@pytest.mark.parametrize("method", METHODS)
def test_impossible_counts_are_refused(method) -> None:
    with pytest.raises(ValueError, match="between 0 and 3"):
        method(4, 3)
    with pytest.raises(ValueError, match="between 0 and 3"):
        method(-1, 3)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0, -0.5])
def test_a_confidence_must_be_a_share(method, confidence: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        method(1, 3, confidence)


def test_an_interval_knows_what_it_holds_and_how_wide_it_is() -> None:
    interval = Interval(0.25, 0.75)
    assert 0.25 in interval
    assert 0.75 in interval
    assert 0.76 not in interval
    assert interval.half_width == 0.25


@pytest.mark.slow
@pytest.mark.parametrize("trials", TRIALS)
def test_clopper_pearson_covers_every_rate_as_often_as_it_says(trials: int) -> None:
    covered = coverage_of_one_rate(clopper_pearson, trials, np.linspace(0, 1, 2001))
    print(f"Clopper-Pearson n={trials}: mean {covered.mean():.4f}, least {covered.min():.4f}")
    assert covered.min() >= 0.95 - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("trials", TRIALS)
def test_wilson_covers_on_average_as_often_as_it_says(trials: int) -> None:
    covered = coverage_of_one_rate(wilson, trials, np.linspace(0, 1, 2001))
    inner = coverage_of_one_rate(wilson, trials, np.linspace(0.1, 0.9, 801))
    print(f"Wilson n={trials}: mean {covered.mean():.4f}, least {covered.min():.4f}, of 0.1 to 0.9 {inner.min():.4f}")
    assert covered.mean() >= 0.945
    # One success in n puts the lower end at about 0.18 / n; rates just below that are held only if there is none.
    assert covered.min() >= 0.83
