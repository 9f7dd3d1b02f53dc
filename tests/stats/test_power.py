from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from tests.stats.chances import chances_of_pairs, discordance
from yardarm.stats import Design, PairedCounts, TaskCounts, boschloo, largest_correlation, mcnemar

correlations = st.sampled_from([None, 0.0, 0.2, 0.4])
STEADY = 12


def test_a_number_of_episodes_by_hand() -> None:
    # ((1.96 * sqrt(2 * 0.55 * 0.45) + 0.8416 * sqrt(0.5 * 0.5 + 0.6 * 0.4)) / 0.1)² = 387.3
    assert Design(0.5, 0.1).episodes() == 388


@pytest.mark.parametrize(("baseline", "gap", "episodes"), [(0.5, 0.1, 388), (0.8, 0.1, 200), (0.3, -0.2, 60)])
def test_statsmodels_agrees_on_the_power_of_different_episodes(baseline: float, gap: float, episodes: int) -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    theirs = proportion.power_proportions_2indep(gap, baseline, episodes, return_results=False)
    assert Design(baseline, gap).power_with(episodes) == pytest.approx(theirs, abs=1e-4)


def power_by_counting(design: Design, pairs: int) -> float:
    """Over all tables that there can be."""
    assert design.correlation is not None
    only_a, only_b = discordance(design.baseline + design.gap, design.baseline, design.correlation)
    chances = chances_of_pairs(pairs, only_a, only_b)
    return sum(
        float(chances[a, b])
        for a in range(pairs + 1)
        for b in range(pairs + 1 - a)
        if mcnemar(PairedCounts(0, a, b, 0)) <= design.alpha
    )


@pytest.mark.parametrize(
    ("baseline", "gap", "correlation", "pairs"),
    [(0.5, 0.3, 0.0, 15), (0.6, 0.3, 0.3, 30), (0.9, -0.4, 0.2, 20), (0.0, 0.5, 0.0, 12), (0.5, 0.2, 0.0, 5)],
)
def test_paired_power_is_that_of_mcnemars_test(baseline: float, gap: float, correlation: float, pairs: int) -> None:
    design = Design(baseline, gap, correlation)
    assert design.power_with(pairs) == pytest.approx(power_by_counting(design, pairs), abs=1e-9)


@given(correlation=correlations, baseline=st.floats(0.1, 0.6), gap=st.floats(0.1, 0.3), episodes=st.integers(20, 300))
def test_more_episodes_and_larger_gaps_are_found_more_often(
    correlation: float | None, baseline: float, gap: float, episodes: int
) -> None:
    assume(correlation is None or correlation <= largest_correlation(baseline, gap + 0.05))
    design = Design(baseline, gap, correlation)
    power = design.power_with(episodes)
    assert 0 <= power <= 1 + 1e-9
    assert design.power_with(2 * episodes) >= power
    assert replace(design, gap=gap + 0.05).power_with(episodes) >= power - 1e-9


@given(correlation=correlations, baseline=st.floats(0.1, 0.5), gap=st.floats(0.1, 0.3), episodes=st.integers(5, 300))
def test_it_does_not_matter_what_is_called_success(
    correlation: float | None, baseline: float, gap: float, episodes: int
) -> None:
    design, mirrored = Design(baseline, gap, correlation), Design(1 - baseline, -gap, correlation)
    assert design.power_with(episodes) == pytest.approx(mirrored.power_with(episodes), abs=1e-6)


@settings(max_examples=20)
@given(correlation=correlations, baseline=st.floats(0.1, 0.6), gap=st.floats(0.1, 0.3), power=st.floats(0.5, 0.95))
def test_it_asks_for_as_many_episodes_as_give_the_power_and_no_more(
    correlation: float | None, baseline: float, gap: float, power: float
) -> None:
    design = Design(baseline, gap, correlation, power)
    episodes = design.episodes()
    assert episodes is not None
    assert all(design.power_with(episodes + more) >= power for more in range(STEADY))
    # One fewer is too few, or has neighbours that are.
    assert episodes == 1 or not all(design.power_with(episodes - 1 + more) >= power for more in range(STEADY))


def test_policies_that_agree_on_what_is_hard_need_fewer_episodes() -> None:
    needed = [Design(0.7, 0.1, correlation).episodes() for correlation in (0.0, 0.3, 0.5, 0.7)]
    assert None not in needed
    assert needed == sorted(needed, reverse=True)
    assert needed[-1] < needed[0] / 2


def test_pairs_that_agree_on_nothing_need_about_as_many_as_different_episodes() -> None:
    assert Design(0.5, 0.1, 0.0).episodes() == pytest.approx(Design(0.5, 0.1).episodes(), rel=0.06)


def test_surer_tests_need_more_episodes() -> None:
    design = Design(0.7, 0.1, 0.3)
    assert replace(design, alpha=0.01).episodes() > design.episodes()
    assert replace(design, power=0.9).episodes() > design.episodes()


@settings(max_examples=20)
@given(
    correlation=correlations,
    baseline=st.floats(0.05, 0.95),
    direction=st.sampled_from([0.1, -0.1]),
    episodes=st.integers(10, 400),
)
def test_the_smallest_gap_is_found_and_a_smaller_one_is_not(
    correlation: float | None, baseline: float, direction: float, episodes: int
) -> None:
    design = Design(baseline, direction, correlation)
    gap = design.smallest_gap(episodes)
    room = 1 - baseline if direction > 0 else baseline
    if gap is None:
        assert power_of_gap(design, np.floor(room * 1000) / 1000, episodes) < design.power
        return
    assert power_of_gap(design, gap, episodes) >= design.power
    assert gap == 0.001 or power_of_gap(design, gap - 0.001, episodes) < design.power


def power_of_gap(design: Design, gap: float, episodes: int) -> float:
    signed = gap if design.gap > 0 else -gap
    if design.correlation is None:
        return replace(design, gap=signed).power_with(episodes)
    correlation = min(design.correlation, largest_correlation(design.baseline, signed))
    return replace(design, gap=signed, correlation=correlation).power_with(episodes)


@pytest.mark.parametrize("episodes", [50, 200, 1000])
def test_the_smallest_gap_needs_just_the_episodes_it_was_found_for(episodes: int) -> None:
    gap = Design(0.5, 0.1).smallest_gap(episodes)
    assert gap is not None
    assert Design(0.5, gap).episodes() <= episodes < Design(0.5, gap - 0.001).episodes()


def test_what_cannot_be_had_is_none() -> None:
    assert Design(0.5, 0.0).episodes() is None
    assert Design(0.5, 0.0, 0.3).episodes() is None
    assert Design(0.5, 0.0001, 0.3).episodes() is None
    assert Design(0.95, 0.1, 0.3).smallest_gap(20) is None
    assert Design(1.0, 0.1).smallest_gap(1000) is None
    # Fewer than six pairs never give a p-value below 0.05.
    assert Design(0.0, 0.1, 0.0).smallest_gap(5) is None


def test_all_against_nothing_needs_six_pairs() -> None:
    assert Design(0.0, 1.0, 0.0).episodes() == 6


def test_how_much_two_policies_can_agree() -> None:
    assert largest_correlation(0.5, 0.1) == pytest.approx(np.sqrt(0.5 * 0.4 / (0.6 * 0.5)))
    assert largest_correlation(0.7, 0.0) == pytest.approx(1.0)
    assert largest_correlation(0.7, 0.3) == 0.0


@given(baseline=st.floats(0.05, 0.9), share=st.floats(0.01, 0.99))
def test_at_the_largest_correlation_one_policy_solves_all_that_the_other_does(baseline: float, share: float) -> None:
    gap = share * (1 - baseline)
    only_other, only_baseline = discordance(baseline + gap, baseline, largest_correlation(baseline, gap))
    assert only_baseline == pytest.approx(0, abs=1e-9)
    assert only_other == pytest.approx(gap)


def rejected_by_boschloo(trials: int) -> np.ndarray:
    """Which tables are significant; along a row the p-value falls away from equality, so ends are found by halving."""
    rejected = np.zeros((trials + 1, trials + 1), bool)
    for a in range(trials + 1):
        low, high = a, trials + 1
        while low < high:
            middle = (low + high) // 2
            found = boschloo(TaskCounts(a, trials), TaskCounts(middle, trials)) <= 0.05
            low, high = (low, middle) if found else (middle + 1, high)
        rejected[a, low:] = rejected[low:, a] = True
    return rejected


@pytest.mark.slow
@pytest.mark.parametrize("trials", [20, 40])
def test_boschloos_test_has_about_the_power_that_was_planned(trials: int) -> None:
    rejected = rejected_by_boschloo(trials)
    for baseline, gap in ((0.5, 0.2), (0.5, 0.3), (0.5, 0.4), (0.7, 0.2), (0.8, -0.4), (0.6, 0.35)):
        of_a = binom.pmf(np.arange(trials + 1), trials, baseline)
        of_b = binom.pmf(np.arange(trials + 1), trials, baseline + gap)
        planned, true = Design(baseline, gap).power_with(trials), float(of_a @ rejected @ of_b)
        print(f"power {baseline} and {baseline + gap:.2f}, n={trials}: planned {planned:.3f}, Boschloo {true:.3f}")
        assert abs(planned - true) < 0.04


@pytest.mark.slow
@pytest.mark.parametrize(
    ("baseline", "gap", "correlation", "pairs"), [(0.7, 0.1, 0.5, 150), (0.8, 0.1, 0.3, 200), (0.5, 0.2, 0.0, 80)]
)
def test_mcnemars_test_has_the_power_that_was_planned(
    baseline: float, gap: float, correlation: float, pairs: int
) -> None:
    design = Design(baseline, gap, correlation)
    only_other, only_baseline = discordance(baseline + gap, baseline, correlation)
    alike = 1 - only_other - only_baseline
    drawn = np.random.default_rng(0).multinomial(pairs, [alike, only_other, only_baseline], 2000)
    found = np.mean([mcnemar(PairedCounts(int(same), int(a), int(b), 0)) <= 0.05 for same, a, b in drawn])
    print(f"power {baseline} and {baseline + gap:.2f}, correlation {correlation}, n={pairs}: planned "
          f"{design.power_with(pairs):.3f}, McNemar {found:.3f}")  # fmt: skip
    assert abs(found - design.power_with(pairs)) < 0.04


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1.2, 0.1), "rates must be between"),
        ((0.5, 0.1, None, 2.0), "power and alpha"),
        ((0.5, 0.1, None, 0.8, 0), "alpha"),
    ],
)
def test_impossible_designs_are_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Design(*arguments)


def test_impossible_rates_and_correlations_have_no_power() -> None:
    with pytest.raises(ValueError, match=r"a rate of 1\.2 is impossible"):
        Design(0.9, 0.3, 0.5).episodes()
    with pytest.raises(ValueError, match=r"cannot have a correlation of 0\.99"):
        Design(0.5, 0.1, 0.99).power_with(100)
