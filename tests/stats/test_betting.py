from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stats.chances import task_rates
from yardarm.stats import Interval, clopper_pearson, confidence_sequence, difference_sequence
from yardarm.stats.betting import SHARES

LOOKS = 1000
# The ends are found to within 1e-9.
EXACT = 1e-8

values = st.dictionaries(st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0]), st.integers(0, 200), max_size=5)
few_values = st.dictionaries(st.sampled_from([0.0, 0.25, 0.5, 0.9, 1.0]), st.integers(0, 20), max_size=5)
some = st.integers(0, 200)


def of_rate(successes: int, trials: int) -> Interval:
    return confidence_sequence({1.0: successes, 0.0: trials - successes})


def rich(counts: dict[float, int], mean: float) -> bool:
    """Whether somebody, on either side, has become rich against this mean; told from the bets, one by one."""
    above, below = np.ones(len(SHARES)), np.ones(len(SHARES))
    for value, times in counts.items():
        above *= (1 - SHARES + SHARES * value / mean) ** times
        below *= (1 - SHARES + SHARES * (1 - value) / (1 - mean)) ** times
    return bool(max(above.mean(), below.mean()) > 40)  # 2 / 0.05


@settings(max_examples=30)
@given(counts=few_values, mean=st.floats(0.01, 0.99))
def test_a_mean_is_given_up_once_somebody_is_rich_against_it(counts: dict[float, int], mean: float) -> None:
    interval = confidence_sequence(counts)
    if min(abs(mean - interval.low), abs(mean - interval.high)) > EXACT:
        assert (mean not in interval) == rich(counts, mean)


def test_three_successes_by_hand() -> None:
    # The mean fortune of all who bet is the mean of (1 - s + s / m)³ over shares s; its 40-fold is at the lower end.
    low = confidence_sequence({1.0: 3}).low
    assert np.mean((1 - SHARES + SHARES / low) ** 3) == pytest.approx(40)
    assert confidence_sequence({1.0: 3}).high == 1.0


def test_without_values_nothing_is_known() -> None:
    assert confidence_sequence({}) == Interval(0.0, 1.0)
    assert confidence_sequence({0.0: 0, 1.0: 0}) == Interval(0.0, 1.0)
    assert difference_sequence(0, 0, 0) == Interval(-1.0, 1.0)


@settings(max_examples=30)
@given(counts=values.filter(lambda counts: sum(counts.values())))
def test_it_holds_the_mean_and_stays_between_0_and_1(counts: dict[float, int]) -> None:
    interval = confidence_sequence(counts)
    mean = sum(value * times for value, times in counts.items()) / sum(counts.values())
    assert 0 <= interval.low <= mean + EXACT
    assert mean - EXACT <= interval.high <= 1


@settings(max_examples=30)
@given(counts=values)
def test_high_values_move_it_up_and_low_ones_down(counts: dict[float, int]) -> None:
    before = confidence_sequence(counts)
    up = confidence_sequence({**counts, 1.0: counts.get(1.0, 0) + 1})
    down = confidence_sequence({**counts, 0.0: counts.get(0.0, 0) + 1})
    assert down.low - EXACT <= before.low <= up.low + EXACT
    assert down.high - EXACT <= before.high <= up.high + EXACT


@settings(max_examples=30)
@given(counts=values)
def test_values_mirror(counts: dict[float, int]) -> None:
    interval, other = confidence_sequence(counts), confidence_sequence({1 - each: n for each, n in counts.items()})
    assert (interval.low, interval.high) == pytest.approx((1 - other.high, 1 - other.low), abs=EXACT)


@settings(max_examples=30)
@given(counts=values)
def test_it_does_not_matter_in_which_order_values_came(counts: dict[float, int]) -> None:
    interval, other = confidence_sequence(counts), confidence_sequence(dict(reversed(counts.items())))
    assert (interval.low, interval.high) == pytest.approx((other.low, other.high), abs=EXACT)


@settings(max_examples=30)
@given(successes=st.integers(0, 100), failures=st.integers(0, 100))
def test_looking_all_the_time_costs_width(successes: int, failures: int) -> None:
    always, once = of_rate(successes, successes + failures), clopper_pearson(successes, successes + failures)
    assert always.half_width >= once.half_width - EXACT


def test_it_narrows_as_values_come() -> None:
    widths = [of_rate(7 * n, 10 * n).half_width for n in (1, 3, 10, 30, 100, 1000)]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.025


def test_more_confidence_widens_it() -> None:
    wide, narrow = (confidence_sequence({0.0: 30, 1.0: 70}, confidence) for confidence in (0.99, 0.9))
    assert wide.low < narrow.low < narrow.high < wide.high


def test_huge_counts_do_no_harm() -> None:
    half = confidence_sequence({0.0: 10**6, 1.0: 10**6})
    rare = confidence_sequence({0.0: 10**6, 1.0: 1})
    assert 0.498 < half.low < 0.5 < half.high < 0.502
    assert 0 <= rare.low < 1e-6 < rare.high < 1e-4


@settings(max_examples=30)
@given(only_a=some, only_b=some, alike=some)
def test_a_difference_holds_what_was_seen_and_mirrors(only_a: int, only_b: int, alike: int) -> None:
    pairs = only_a + only_b + alike
    interval, other = difference_sequence(only_a, only_b, pairs), difference_sequence(only_b, only_a, pairs)
    seen = (only_a - only_b) / pairs if pairs else 0.0
    assert -1 <= interval.low <= seen + EXACT
    assert seen - EXACT <= interval.high <= 1
    assert (interval.low, interval.high) == pytest.approx((-other.high, -other.low), abs=EXACT)


def test_impossible_values_and_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        confidence_sequence({1.5: 3})
    with pytest.raises(ValueError, match="negative"):
        confidence_sequence({0.0: -1, 1.0: 4})
    with pytest.raises(ValueError, match="negative"):
        difference_sequence(only_a=5, only_b=5, pairs=9)
    with pytest.raises(ValueError, match="confidence"):
        confidence_sequence({1.0: 3}, 95)


def ever_missed(drawn: np.ndarray, mean: float) -> float:
    """In how many runs the interval is wrong at any look: somebody becomes rich against the true mean.

    That this is the same as asking for each interval is tested above; it takes a thousandth of the time.
    """
    above, below = np.ones((2, len(drawn), len(SHARES)))
    missed = np.zeros(len(drawn), bool)
    for value in drawn.T:
        above *= 1 - SHARES + SHARES * (value[:, None] / mean)
        below *= 1 - SHARES + SHARES * ((1 - value[:, None]) / (1 - mean))
        missed |= np.maximum(above.mean(axis=1), below.mean(axis=1)) > 40
    return float(missed.mean())


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.05, 0.2, 0.5, 0.8, 0.95])
def test_whoever_looks_after_every_episode_is_rarely_ever_misled(rate: float) -> None:
    drawn = np.random.default_rng(0).random((2000, LOOKS)) < rate
    missed = ever_missed(drawn.astype(float), rate)
    print(f"confidence sequence, rate {rate}: ever missed {missed:.4f}")
    assert missed <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["spread", "bimodal", "u-shaped", "mostly hopeless"])
@pytest.mark.parametrize(("tasks", "episodes"), [(10, 100), (50, 20), (1000, 1)])
def test_it_holds_for_tasks_of_different_difficulty_in_random_order(shape: str, tasks: int, episodes: int) -> None:
    rng = np.random.default_rng(tasks)
    rates = np.repeat(task_rates(shape, tasks, rng), episodes)
    order = rng.permuted(np.tile(rates, (1000, 1)), axis=1)
    missed = ever_missed((rng.random(order.shape) < order).astype(float), float(rates.mean()))
    print(f"confidence sequence, {tasks} {shape} tasks: ever missed {missed:.4f}")
    assert missed <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("only_a", "only_b"), [(0.05, 0.05), (0.25, 0.25), (0.3, 0.1), (0.15, 0.05), (0.5, 0.5)])
def test_the_difference_is_rarely_ever_missed(only_a: float, only_b: float) -> None:
    drawn = np.random.default_rng(0).choice(
        [1.0, 0.0, 0.5], (1500, LOOKS), p=[only_a, only_b, round(1 - only_a - only_b, 12)]
    )
    missed = ever_missed(drawn, (1 + only_a - only_b) / 2)
    print(f"difference sequence, {only_a} and {only_b}: ever missed {missed:.4f}")
    assert missed <= 0.05
