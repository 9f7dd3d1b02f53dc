from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, boschloo_exact, fisher_exact

from yardarm.stats import Interval, TaskCounts, boschloo, newcombe

any_counts = st.integers(1, 60).flatmap(lambda trials: st.builds(TaskCounts, st.integers(0, trials), st.just(trials)))
few_counts = st.integers(1, 8).flatmap(lambda trials: st.builds(TaskCounts, st.integers(0, trials), st.just(trials)))


def mirrored(counts: TaskCounts) -> TaskCounts:
    return TaskCounts(counts.trials - counts.successes, counts.trials)


@pytest.mark.parametrize(
    ("a", "b", "low", "high"),
    # Values of Newcombe (1998, on two proportions), table II, method 10.
    [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((6, 7), (2, 7), 0.0582, 0.8062),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((0, 10), (0, 20), -0.1611, 0.2775),
        ((0, 10), (0, 10), -0.2775, 0.2775),
        ((10, 10), (0, 20), 0.6791, 1.0000),
        ((10, 10), (0, 10), 0.6075, 1.0000),
    ],
)
def test_newcombe_has_the_published_values(a: tuple[int, int], b: tuple[int, int], low: float, high: float) -> None:
    interval = newcombe(TaskCounts(*a), TaskCounts(*b))
    assert (round(interval.low, 4), round(interval.high, 4)) == (low, high)


@settings(max_examples=20)
@given(a=any_counts, b=any_counts)
def test_statsmodels_agrees_on_newcombe(a: TaskCounts, b: TaskCounts) -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    own = newcombe(a, b)
    theirs = proportion.confint_proportions_2indep(*a, *b, method="newcomb", compare="diff")
    assert (own.low, own.high) == pytest.approx(theirs, abs=1e-9)


@given(a=any_counts, b=any_counts, confidence=st.floats(0.5, 0.999))
def test_newcombe_mirrors_and_holds_the_difference(a: TaskCounts, b: TaskCounts, confidence: float) -> None:
    interval = newcombe(a, b, confidence)
    for other in (newcombe(b, a, confidence), newcombe(mirrored(a), mirrored(b), confidence)):
        assert (interval.low, interval.high) == pytest.approx((-other.high, -other.low), abs=1e-12)
    difference = a.successes / a.trials - b.successes / b.trials
    assert -1 <= interval.low <= difference + 1e-12
    assert difference - 1e-12 <= interval.high <= 1


@given(a=any_counts, b=any_counts)
def test_twice_as_many_episodes_narrow_newcombe(a: TaskCounts, b: TaskCounts) -> None:
    double_a, double_b = (TaskCounts(2 * own.successes, 2 * own.trials) for own in (a, b))
    assert newcombe(double_a, double_b).half_width < newcombe(a, b).half_width


def test_without_episodes_nothing_is_known() -> None:
    none, some = TaskCounts(0, 0), TaskCounts(3, 5)
    for a, b in ((none, some), (some, none)):
        assert newcombe(a, b) == Interval(-1.0, 1.0)
        assert boschloo(a, b) == 1.0


@settings(max_examples=15)
@given(a=few_counts, b=few_counts)
def test_scipy_agrees_on_boschloo(a: TaskCounts, b: TaskCounts) -> None:
    table = [[a.successes, b.successes], [a.trials - a.successes, b.trials - b.successes]]
    if min(map(sum, table)) == 0:
        assert boschloo(a, b) == pytest.approx(1.0)  # where scipy gives nan
    else:
        assert boschloo(a, b) == pytest.approx(boschloo_exact(table).pvalue, abs=1e-6)


def test_boschloo_of_all_against_nothing_can_be_worked_out_by_hand() -> None:
    # All of one and none of the other: most likely if the common rate is a half.
    assert boschloo(TaskCounts(4, 4), TaskCounts(0, 4)) == pytest.approx(2 * 0.5**8, rel=1e-6)


@settings(max_examples=15)
@given(a=any_counts, b=any_counts)
def test_boschloo_does_not_care_who_is_a_nor_what_success_is(a: TaskCounts, b: TaskCounts) -> None:
    p_value = boschloo(a, b)
    assert 0 <= p_value <= 1
    assert boschloo(b, a) == pytest.approx(p_value, rel=1e-5)
    assert boschloo(mirrored(a), mirrored(b)) == pytest.approx(p_value, rel=1e-5)


@settings(max_examples=15)
@given(a=any_counts, b=any_counts)
def test_boschloo_finds_at_least_what_fisher_finds(a: TaskCounts, b: TaskCounts) -> None:
    table = [[a.successes, b.successes], [a.trials - a.successes, b.trials - b.successes]]
    one_sided = min(fisher_exact(table, alternative=side).pvalue for side in ("less", "greater"))
    assert boschloo(a, b) <= min(1.0, 2 * one_sided) + 1e-9


def test_impossible_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 3"):
        newcombe(TaskCounts(4, 3), TaskCounts(1, 3))


@pytest.mark.slow
@pytest.mark.parametrize(("trials_a", "trials_b"), [(10, 10), (20, 20), (50, 50), (100, 100), (20, 100)])
def test_newcombe_covers_the_difference_as_often_as_it_says(trials_a: int, trials_b: int) -> None:
    intervals = [
        [newcombe(TaskCounts(a, trials_a), TaskCounts(b, trials_b)) for b in range(trials_b + 1)]
        for a in range(trials_a + 1)
    ]
    low, high = (np.array([[getattr(each, end) for each in row] for row in intervals]) for end in ("low", "high"))
    covered = []
    for rate_a in np.linspace(0.05, 0.95, 37):
        of_a = binom.pmf(np.arange(trials_a + 1), trials_a, rate_a)
        for rate_b in np.linspace(0.05, 0.95, 37):
            of_b = binom.pmf(np.arange(trials_b + 1), trials_b, rate_b)
            held = (low <= rate_a - rate_b + 1e-12) & (rate_a - rate_b - 1e-12 <= high)
            covered.append(float(of_a @ held @ of_b))
    print(f"Newcombe n={trials_a}, {trials_b}: mean {np.mean(covered):.4f}, least {np.min(covered):.4f}")
    assert np.mean(covered) >= 0.949
    # The least is that of ten episodes each, of rates near 0 or 1.
    assert np.min(covered) >= 0.89


@pytest.mark.slow
def test_boschloo_errs_no_more_often_than_it_says_at_any_rate() -> None:
    trials = 15
    p_values = np.array(
        [[boschloo(TaskCounts(a, trials), TaskCounts(b, trials)) for b in range(trials + 1)] for a in range(trials + 1)]
    )
    rates = np.linspace(0, 1, 501)
    of_each = [binom.pmf(np.arange(trials + 1), trials, rate) for rate in rates]
    errors = [float(each @ (p_values <= 0.05) @ each) for each in of_each]
    print(f"Boschloo n={trials}: errs in {max(errors):.4f} at most")
    assert 0.03 <= max(errors) <= 0.05
