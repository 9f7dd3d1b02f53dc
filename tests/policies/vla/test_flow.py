"""From noise to actions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from yardarm.policies.vla.flow import SCHEDULES, Guidance, TimeSampling, embed_times, integrate


def test_a_straight_flow_arrives_in_any_number_of_steps() -> None:
    noise, goal = torch.randn(2, 2, 3, 4, generator=torch.Generator().manual_seed(0))
    for steps in (1, 3, 10):
        reached = integrate(lambda noisy, time: noise - goal, noise, steps)
        torch.testing.assert_close(reached, goal, atol=1e-5, rtol=0)


def test_times_run_from_one_to_zero() -> None:
    times: list[float] = []
    integrate(lambda noisy, time: (times.append(time), noisy)[1], torch.zeros(1, 1, 1), 4)
    assert times == [1, 0.75, 0.5, 0.25]


def test_times_are_embedded_as_sines_then_cosines() -> None:
    embedded = embed_times(torch.tensor([0.5]), 4, 0.004, 4.0)[0]
    angles = [2 * math.pi * 0.5 / period for period in (0.004, 4.0)]
    assert embedded.tolist() == pytest.approx([*map(math.sin, angles), *map(math.cos, angles)], abs=1e-9)


def test_times_to_learn_at_are_those_of_a_beta_distribution() -> None:
    torch.manual_seed(0)
    times = TimeSampling().draw(200_000, torch.device("cpu")).numpy()
    assert times.min() >= 0.001
    assert times.max() <= 1
    for quantile in (0.1, 0.5, 0.9):  # the distribution function of Beta(1.5, 1) is t^1.5
        assert np.quantile(times, quantile) == pytest.approx(0.999 * quantile ** (1 / 1.5) + 0.001, abs=5e-3)


def test_another_beta_distribution_may_be_asked_for() -> None:
    torch.manual_seed(0)
    times = TimeSampling(alpha=1.0, beta=2.0, scale=0.5, offset=0.25).draw(200_000, torch.device("cpu")).numpy()
    for quantile in (0.1, 0.5, 0.9):  # the distribution function of Beta(1, 2) is 1 - (1 - t)²
        expected = 1 - (1 - quantile) ** 0.5
        assert np.quantile(times, quantile) == pytest.approx(0.5 * expected + 0.25, abs=5e-3)


def guidance(schedule: str = "linear", delay: int = 2, horizon: int = 6, left: int = 7) -> Guidance:
    return Guidance(torch.ones(1, left, 3), torch.tensor([delay]), horizon, schedule)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("linear", [1, 1, 0.8, 0.6, 0.4, 0.2, 0, 0]),
        ("exp", [1, 1, *(w * math.expm1(w) / (math.e - 1) for w in (0.8, 0.6, 0.4, 0.2)), 0, 0]),
        ("ones", [1, 1, 1, 1, 1, 1, 0, 0]),
        ("zeros", [1, 1, 0, 0, 0, 0, 0, 0]),
    ],
)
def test_what_was_planned_counts_less_and_less(schedule: str, expected: list[float]) -> None:
    assert guidance(schedule).weights(8)[0].tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_weights_end_where_the_plan_ends(schedule: str) -> None:
    weights = guidance(schedule, delay=9, horizon=20, left=3).weights(8)[0]
    assert weights.tolist() == [1, 1, 1, 0, 0, 0, 0, 0]


def test_rows_may_wait_for_different_times() -> None:
    rows = Guidance(torch.ones(2, 6, 3), torch.tensor([0, 3]), 6)
    alone = [Guidance(torch.ones(1, 6, 3), torch.tensor([delay]), 6).weights(8)[0] for delay in (0, 3)]
    torch.testing.assert_close(rows.weights(8), torch.stack(alone))


def test_guidance_leads_to_the_plan_where_it_counts() -> None:
    noise = torch.randn(1, 8, 5, generator=torch.Generator().manual_seed(0))
    free = integrate(lambda noisy, time: noisy, noise, 10)
    guided = integrate(lambda noisy, time: noisy, noise, 10, guidance())
    assert (guided[:, :2, :3] - 1).abs().max() < 0.1 < (free[:, :2, :3] - 1).abs().min()
    torch.testing.assert_close(guided[:, 6:], free[:, 6:])
