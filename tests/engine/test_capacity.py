"""The queueing model: against known results, and the laws that any such model keeps to."""

from __future__ import annotations

from math import factorial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yardarm.engine.tuning.capacity import Costs, Thinking, throughput

seconds = st.floats(1e-4, 2.0)
thoughts = st.builds(
    Thinking,
    fixed_s=seconds,
    each_s=seconds,
    rows=st.sampled_from([1, 8, 32]),
    cores=st.floats(0.0, 2.0),
)
# Who lives elsewhere computes elsewhere.
thoughts |= st.builds(Thinking, fixed_s=seconds, each_s=seconds, cores=st.just(0.0), lanes=st.sampled_from([4, 64]))
all_costs = st.builds(Costs, seconds, st.floats(0.0, 1.0), st.none() | thoughts)


@pytest.mark.parametrize("workers", [1, 2, 5, 20])
def test_one_who_repairs_many_machines(workers: int) -> None:
    """Palm's machine interference: the chance that nobody waits is Erlang's sum."""
    away_s, repair_s = 0.7, 0.3
    costs = Costs(compute_s=1e-9, wait_s=away_s, thinking=Thinking(fixed_s=0.0, each_s=repair_s, cores=0.0))
    terms = [factorial(workers) / factorial(workers - k) * (repair_s / away_s) ** k for k in range(workers + 1)]
    idle = terms[0] / sum(terms)
    assert throughput(costs, cores=1, workers=workers) == pytest.approx((1 - idle) / repair_s)


@pytest.mark.parametrize("workers", [1, 3, 8])
def test_two_stations_that_serve_one_at_a_time(workers: int) -> None:
    """Mean value analysis of a core and a policy that do not share anything, round after round."""
    step_s, think_s = 0.2, 0.5
    queues = [0.0, 0.0]
    rate = 0.0
    for count in range(1, workers + 1):
        stays = [step_s * (1 + queues[0]), think_s * (1 + queues[1])]
        rate = count / sum(stays)
        queues = [rate * stay for stay in stays]
    costs = Costs(step_s, thinking=Thinking(0.0, think_s, cores=0.0))
    assert throughput(costs, cores=1, workers=workers) == pytest.approx(rate)


def test_lanes_that_are_never_full_wait_for_nobody() -> None:
    costs = Costs(compute_s=1e-6, wait_s=0.1, thinking=Thinking(0.4, 0.0, cores=0.0, lanes=64))
    assert throughput(costs, cores=1, workers=50) == pytest.approx(50 / 0.5, rel=1e-4)


@given(costs=all_costs, cores=st.integers(1, 16), workers=st.integers(1, 32))
def test_another_worker_never_makes_it_slower(costs: Costs, cores: int, workers: int) -> None:
    assert throughput(costs, cores, workers + 1) >= throughput(costs, cores, workers) * 0.99


@given(costs=all_costs, cores=st.integers(1, 16), workers=st.integers(1, 32))
def test_nothing_is_faster_than_its_cores_or_its_workers(costs: Costs, cores: int, workers: int) -> None:
    rate = throughput(costs, cores, workers)
    assert rate <= 1.001 * cores / costs.compute_s
    assert rate <= 1.001 * workers / (costs.compute_s + costs.wait_s)
