"""A run fits its number of workers to what it costs, and its results do not notice."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from toy_world import MoverPolicy, ToyConfig

from tests.engine.test_capacity import all_costs
from tests.helpers import courses, workers
from yardarm.api import evaluate
from yardarm.engine.inference import Tally
from yardarm.engine.tuning import tuner as tuning
from yardarm.engine.tuning.capacity import Costs, Thinking
from yardarm.engine.tuning.metering import Measured, _line
from yardarm.engine.tuning.tuner import FARTHEST, TuningLimits, choose_workers
from yardarm.envs import ProcessPool
from yardarm.evaluation import EvaluationListener
from yardarm.machine import usable_cores
from yardarm.policies import ActionChunk, Request
from yardarm.results import EpisodeRecord, RunFolder, RunResult

ROOM = TuningLimits(cores=2, most=64, episodes=1000, rest_s=600.0, start_s=0.2)


def chosen(costs: Costs, current: int, limits: TuningLimits = ROOM) -> int:
    return choose_workers(Measured(3.0, 100, 100, costs), current, limits).workers


def test_a_policy_that_lets_the_cores_wait_gets_more_workers_than_there_are() -> None:
    slow = Costs(compute_s=0.005, thinking=Thinking(fixed_s=0.2, each_s=0.0, cores=0.0))
    assert chosen(slow, current=3) == FARTHEST * 3


def test_a_policy_that_takes_each_request_in_turn_gets_no_more() -> None:
    in_turn = Costs(compute_s=0.005, thinking=Thinking(fixed_s=0.0, each_s=0.2, cores=0.0))
    assert chosen(in_turn, current=3) == 3


def test_a_policy_elsewhere_gets_workers_for_its_lanes() -> None:
    elsewhere = Costs(compute_s=0.01, thinking=Thinking(fixed_s=0.1, each_s=0.0, cores=0.0, lanes=6))
    assert chosen(elsewhere, current=4, limits=TuningLimits(2, 6, 1000, 600.0)) == 6


def test_full_cores_get_no_more_workers() -> None:
    assert chosen(Costs(compute_s=0.1), current=2) == 2
    assert chosen(Costs(0.2, thinking=Thinking(0.02, 0.0)), current=3) == 3


def test_cores_that_others_use_are_not_counted_on() -> None:
    looking = Costs(compute_s=0.1, thinking=Thinking(fixed_s=0.2, each_s=0.0, cores=0.0))
    alone, in_a_crowd = (choose_workers(Measured(3.0, 90, 90, looking, others), 3, ROOM) for others in (0.0, 1.5))
    assert alone.workers > in_a_crowd.workers
    assert "other programs use 1.5 cores" in in_a_crowd.reason


def test_nobody_is_let_go_because_others_are_busy() -> None:
    busy = Measured(3.0, 90, 90, Costs(compute_s=0.1), others=1.9)
    assert choose_workers(busy, 2, ROOM).workers == 2, "when they have gone, there is a core for each"


def test_workers_that_only_wait_for_their_turn_are_let_go() -> None:
    assert chosen(Costs(1e-3, thinking=Thinking(0.0, each_s=1.0, cores=0.0)), current=8) <= 2


def test_a_simulator_that_takes_long_to_build_is_not_built_for_a_short_rest() -> None:
    slow = Costs(compute_s=0.005, thinking=Thinking(fixed_s=0.2, each_s=0.0, cores=0.0))
    assert chosen(slow, current=3, limits=TuningLimits(2, 64, 20, rest_s=6.0, start_s=30.0)) == 3


@pytest.mark.parametrize(("fixed_s", "each_s"), [(0.2, 0.0), (0.0, 0.1), (0.05, 0.02)])
def test_what_an_inference_costs_is_learned_from_batches_of_different_sizes(fixed_s: float, each_s: float) -> None:
    tally = Tally()
    for load in (1, 2, 3, 3, 2, 3):
        tally.count(load, fixed_s + each_s * load)
    assert _line(tally, speed=1.0, rows=None) == pytest.approx((fixed_s, each_s))


def test_batches_that_are_all_of_one_size_say_nothing_against_larger_ones() -> None:
    tally = Tally()
    for _ in range(9):
        tally.count(3, 0.2)
    assert _line(tally, speed=1.0, rows=None) == pytest.approx((0.2, 0.0))
    assert _line(tally, speed=1.0, rows=1) == pytest.approx((0.0, 0.2 / 3)), "one row at a time is known to be"


@given(
    costs=all_costs,
    current=st.integers(1, 20),
    most=st.integers(1, 64),
    episodes=st.integers(1, 100),
    rest_s=st.floats(5.0, 1e4),
    start_s=st.floats(0.0, 20.0),
)
def test_a_choice_keeps_to_its_limits(
    costs: Costs, current: int, most: int, episodes: int, rest_s: float, start_s: float
) -> None:
    count = chosen(costs, current, TuningLimits(2, most, episodes, rest_s, start_s))
    assert 1 <= count <= max(1, min(most, episodes, FARTHEST * current))


class Resizer(EvaluationListener):
    """Changes the number of places after each episode, whatever that is good for."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = list(sizes)
        self.pool: ProcessPool | None = None

    def finished(self, record: EpisodeRecord) -> None:
        assert self.pool is not None
        if self.sizes:
            self.pool.size = self.sizes.pop(0)


@cache
def expected(task: str) -> dict[Any, Any]:
    return courses(evaluate(MoverPolicy(), ToyConfig(task=task), n_episodes=8, batch_size=1))


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(sizes=st.lists(st.integers(1, 6), max_size=16), task=st.sampled_from(["left,right", "far,left,right"]))
def test_no_change_of_workers_changes_an_episode(sizes: list[int], task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    resizer = Resizer(sizes)

    def note_pool(pool: Any, *rest: Any) -> None:
        resizer.pool = pool

    with monkeypatch.context() as patched:
        patched.setattr("yardarm.evaluation.session.tuner_for", note_pool)
        run = evaluate(MoverPolicy(), ToyConfig(task=task), n_episodes=8, listener=resizer)
    assert courses(run) == expected(task)


def test_workers_beyond_the_places_are_dismissed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Census(Resizer):
        def finished(self, record: EpisodeRecord) -> None:
            super().finished(record)
            self.counts = [*getattr(self, "counts", []), len(workers())]

    census = Census([4, 4, 4, 4, 4, 4, 1])
    monkeypatch.setattr("yardarm.evaluation.session.tuner_for", lambda pool, *rest: setattr(census, "pool", pool))
    evaluate(MoverPolicy(), ToyConfig(task="far", step_s=0.002), n_episodes=24, listener=census)
    assert max(census.counts) >= 3
    assert census.counts[-1] <= 1


class Slow(MoverPolicy):
    """Thinks long, and needs no core for it; a batch takes as long as one request."""

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        time.sleep(0.05)
        return super().infer(requests)


class Elsewhere(Slow):
    lanes = 7


def tuned(policy: MoverPolicy, monkeypatch: pytest.MonkeyPatch, folder: Path, **options: Any) -> tuple[Any, list[str]]:
    """Run with little time_limit; what its record says of it, and what was told."""
    told: list[str] = []

    class Ear(EvaluationListener):
        def tuned(self, text: str) -> None:
            told.append(text)

    for name, value in {"MEASURE_S": 0.2, "SAMPLE_EVERY_S": 0.05, "SHORTEST_REST_S": 0.1, "MEASURE_ROUNDS": 3}.items():
        monkeypatch.setattr(tuning, name, value)
    config = ToyConfig(task="far", max_steps=30)
    run: RunResult = evaluate(policy, config, n_episodes=40, output_dir=folder, listener=Ear(), **options)
    return session_of(run.path), told


def session_of(folder: Path) -> Any:
    return json.loads((folder / "manifest.json").read_text())["sessions"][-1]


def test_a_slow_policy_gets_more_workers_than_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session, told = tuned(Slow(), monkeypatch, tmp_path)
    assert session["tuning"]["began_with"] == usable_cores() + 1
    assert session["batch_size"] > usable_cores() + 1
    first = session["tuning"]["choices"][0]
    assert told[0] == f"{first['workers']} workers instead of {usable_cores() + 1}: {first['reason']}"
    thinking = first["measured"]["costs"]["thinking"]
    assert 0.04 < thinking["fixed_s"] + thinking["each_s"] < 0.2


def test_a_policy_elsewhere_gets_as_many_as_it_can_serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session, _ = tuned(Elsewhere(), monkeypatch, tmp_path)
    assert 2 * usable_cores() < session["batch_size"] <= Elsewhere.lanes


def test_who_says_a_number_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session, told = tuned(Slow(chunk=30), monkeypatch, tmp_path, batch_size=3)
    assert session["tuning"] == {"pinned": True, "began_with": 3, "choices": []}
    assert session["batch_size"] == 3
    assert not told


def test_one_simulator_in_this_process_is_not_tuned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session, told = tuned(MoverPolicy(chunk=30), monkeypatch, tmp_path, use_async_envs=False)
    assert session["tuning"] == {"pinned": False, "began_with": 1, "choices": []}
    assert not told


def test_two_policies_are_told_of_each_choice_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session, told = tuned(Slow(), monkeypatch, tmp_path, against=Slow(chunk=4))
    opponent = session_of(RunFolder(tmp_path).opponent.path)
    assert session["tuning"] == opponent["tuning"]
    assert len(session["tuning"]["choices"]) == len(told) > 0
