from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stats.chances import chances_of_pairs, discordance
from yardarm.stats import Interval, PairedCounts, bonett_price, largest_correlation, mcnemar

some = st.integers(0, 60)
any_counts = st.builds(PairedCounts, some, some, some, some)


def swapped(counts: PairedCounts) -> PairedCounts:
    return PairedCounts(counts.both, counts.only_b, counts.only_a, counts.neither)


def test_pairs_are_counted_by_who_solved_them() -> None:
    outcomes = [(True, True)] + [(True, False)] * 2 + [(False, True)] * 3 + [(False, False)] * 4
    assert PairedCounts.of(outcomes) == PairedCounts(both=1, only_a=2, only_b=3, neither=4)


@given(outcomes=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=50))
def test_counts_have_the_rates_of_the_outcomes(outcomes: list[tuple[bool, bool]]) -> None:
    counts = PairedCounts.of(outcomes)
    table = np.array(outcomes, float)
    assert counts.pairs == len(outcomes)
    assert counts.discordant == sum(a != b for a, b in outcomes)
    assert counts.difference == pytest.approx(table[:, 0].mean() - table[:, 1].mean())
    if counts.correlation is not None:
        assert counts.correlation == pytest.approx(np.corrcoef(table.T)[0, 1])
    else:
        assert min(table.std(axis=0)) == 0


def test_without_pairs_there_is_no_difference_to_speak_of() -> None:
    assert math.isnan(PairedCounts().difference)
    assert PairedCounts().correlation is None
    assert mcnemar(PairedCounts()) == 1.0
    assert bonett_price(PairedCounts()) == Interval(-1.0, 1.0)


def test_the_published_example_of_fagerland_lydersen_and_laake() -> None:
    airways = PairedCounts(both=1, only_a=1, only_b=7, neither=12)
    interval = bonett_price(airways)
    assert round(mcnemar(airways), 4) == 0.0703
    assert (round(interval.low, 3), round(interval.high, 3)) == (-0.508, -0.013)


@pytest.mark.parametrize(
    ("only_a", "only_b", "p_value"),
    [(0, 5, 2 / 32), (6, 0, 2 / 64), (10, 2, 2 * (1 + 12 + 66) / 4096), (3, 3, 1.0), (4, 3, 1.0), (0, 0, 1.0)],
)
def test_mcnemar_counts_the_tosses_of_a_fair_coin(only_a: int, only_b: int, p_value: float) -> None:
    assert mcnemar(PairedCounts(20, only_a, only_b, 30)) == pytest.approx(p_value)


@settings(max_examples=20)
@given(counts=any_counts)
def test_statsmodels_agrees_on_mcnemar(counts: PairedCounts) -> None:
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    theirs = tables.mcnemar([[counts.both, counts.only_a], [counts.only_b, counts.neither]], exact=True)
    # Where as many pairs went either way, theirs is twice a half and more.
    assert mcnemar(counts) == pytest.approx(min(1.0, theirs.pvalue) if counts.discordant else 1.0)


@given(counts=any_counts)
def test_who_is_called_a_does_not_matter(counts: PairedCounts) -> None:
    interval, other = bonett_price(counts), bonett_price(swapped(counts))
    assert mcnemar(counts) == mcnemar(swapped(counts))
    assert (interval.low, interval.high) == pytest.approx((-other.high, -other.low), abs=1e-12)


@given(counts=any_counts)
def test_pairs_that_went_alike_do_not_move_the_p_value(counts: PairedCounts) -> None:
    assert mcnemar(counts) == mcnemar(PairedCounts(0, counts.only_a, counts.only_b, 0))


@given(counts=any_counts.filter(lambda counts: counts.pairs > 0), confidence=st.floats(0.9, 0.999))
def test_the_interval_lies_between_minus_1_and_1_and_holds_the_difference(
    counts: PairedCounts, confidence: float
) -> None:
    interval = bonett_price(counts, confidence)
    assert -1 <= interval.low <= counts.difference <= interval.high <= 1


@given(counts=any_counts.filter(lambda counts: counts.pairs > 0))
def test_four_times_as_many_pairs_narrow_the_interval(counts: PairedCounts) -> None:
    more = PairedCounts(4 * counts.both, 4 * counts.only_a, 4 * counts.only_b, 4 * counts.neither)
    assert bonett_price(more).half_width < bonett_price(counts).half_width


@given(discordant=st.integers(1, 60), more=st.integers(0, 29))
def test_a_more_lopsided_result_has_a_smaller_p_value(discordant: int, more: int) -> None:
    fewer = min(more, (discordant - 1) // 2)
    lopsided = mcnemar(PairedCounts(0, fewer, discordant - fewer, 0))
    even = mcnemar(PairedCounts(0, fewer + 1, discordant - fewer - 1, 0))
    assert lopsided <= even


def test_a_confidence_must_be_a_share() -> None:
    with pytest.raises(ValueError, match="confidence"):
        bonett_price(PairedCounts(1, 2, 3, 4), 95)


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [10, 20, 50, 100])
def test_bonett_price_covers_the_difference_as_often_as_it_says(pairs: int) -> None:
    low, high = np.full((2, pairs + 1, pairs + 1), np.nan)
    for a in range(pairs + 1):
        for b in range(pairs + 1 - a):
            interval = bonett_price(PairedCounts(pairs - a - b, a, b, 0))
            low[a, b], high[a, b] = interval.low, interval.high
    covered = []
    for rate_a in np.linspace(0.05, 0.95, 19):
        for rate_b in np.linspace(0.05, rate_a, 10):
            largest = largest_correlation(rate_a, rate_b - rate_a)
            for correlation in (value for value in (0.0, 0.3, 0.6, 0.9) if value <= largest):
                only_a, only_b = discordance(rate_a, rate_b, correlation)
                held = (low <= rate_a - rate_b + 1e-12) & (rate_a - rate_b - 1e-12 <= high)
                covered.append(float(np.sum(chances_of_pairs(pairs, only_a, only_b)[held])))
    print(f"Bonett-Price n={pairs}: mean {np.mean(covered):.4f}, least {np.min(covered):.4f}")
    assert np.mean(covered) >= 0.95
    assert np.min(covered) >= 0.92


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [10, 50, 150])
def test_mcnemar_errs_no_more_often_than_it_says(pairs: int) -> None:
    p_values = np.array(
        [[mcnemar(PairedCounts(0, a, b, 0)) for b in range(pairs + 1)] for a in range(pairs + 1)]
    )  # pairs that went alike do not matter
    errors = [
        float(np.sum(chances_of_pairs(pairs, discordant / 2, discordant / 2)[p_values <= 0.05]))
        for discordant in np.linspace(0.02, 1.0, 50)
    ]
    print(f"McNemar n={pairs}: errs in {max(errors):.4f} at most")
    assert max(errors) <= 0.05
