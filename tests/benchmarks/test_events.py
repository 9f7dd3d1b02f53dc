"""The simulation of the scheduler: it keeps to what arithmetic says where arithmetic can say it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_world import ToyConfig

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

from events import DriverCosts, Evaluation, GroupCosts, Network, Replicas, Setting, World, WriterCosts, jobs_of
from stations import Station, Timeline

TASKS = ToyConfig(task="left,right,far").tasks()
WORLD = World(reset_s=0.1, chunk_s=0.2, look_s=0.3, chunks=4, build_s=1.0, spread=0.0)


def writing(group_s: float, episode_s: float) -> WriterCosts:
    return WriterCosts(GroupCosts(group_s, episode_s), GroupCosts(0, 0), every_s=0.0)


FREE = Setting(7, WORLD, DriverCosts(0, 0, 0), writing(0, 0))


def rate_of(setting: Setting, looks: int = 4000) -> float:
    return Evaluation(setting, jobs_of(TASKS, looks // WORLD.chunks)).run_steadily(looks).rate


def test_workers_that_wait_for_nobody_play_at_their_own_pace() -> None:
    assert rate_of(FREE) == pytest.approx(7 / WORLD.episode_s, rel=0.01)


@pytest.mark.parametrize("count", [1, 3])
def test_a_policy_that_everybody_waits_for_decides_the_rate(count: int) -> None:
    busy = replace(FREE, workers=50, replicas=Replicas(count, batch_s=0.2, row_s=0.1, rows=4))
    assert rate_of(busy) == pytest.approx(count * 4 / 0.6 / WORLD.chunks, rel=0.02)


def test_a_driver_without_a_moment_to_spare_decides_the_rate() -> None:
    busy = replace(FREE, workers=50, driver=DriverCosts(0, 0.05, 0.1))
    assert rate_of(busy) == pytest.approx(1 / (4 * 0.05 + 0.1), rel=0.02)


def test_looks_that_are_too_large_for_the_network_decide_the_rate() -> None:
    network = Network(latency_s=0.01, bytes_per_s=WORLD.look_bytes / 0.1)
    assert rate_of(replace(FREE, workers=50, replicas=Replicas(2), network=network)) == pytest.approx(5.0, rel=0.02)


def test_a_whole_run_builds_plays_and_keeps_every_episode() -> None:
    outcome = Evaluation(replace(FREE, workers=3, writer=writing(0.5, 0.25)), jobs_of(TASKS, 5)).run()
    assert outcome.written[-1].episodes == 15
    assert outcome.looks == 15 * WORLD.chunks
    # Each of three workers has a task: it is built, played five times, and the last three are kept as one group or two.
    played_s = WORLD.build_s + 5 * WORLD.episode_s
    assert played_s + 0.5 + 0.75 <= outcome.wall_s <= played_s + 1.0 + 0.75 + 1e-9


@settings(max_examples=40)
@given(
    workers=st.integers(1, 30),
    replicas=st.integers(0, 4),
    rows=st.integers(1, 8),
    driver=st.floats(0, 0.1),
    writer=st.floats(0, 0.5),
    spread=st.floats(0, 0.3),
)
def test_nothing_is_faster_than_its_slowest_part(
    workers: int, replicas: int, rows: int, driver: float, writer: float, spread: float
) -> None:
    setting = Setting(
        workers,
        replace(WORLD, spread=spread),
        DriverCosts(0.01, driver, driver),
        writing(0.1, writer),
        Replicas(replicas, 0.1, 0.05, rows),
        Network(0.001, 1e7),
    )
    assert rate_of(setting, looks=1000) <= 1.05 * min(setting.bounds().values())


@given(arrivals=st.lists(st.floats(0, 10), min_size=1, max_size=30), most=st.integers(1, 4))
def test_a_station_serves_everything_once_in_order_and_in_groups(arrivals: list[float], most: int) -> None:
    timeline = Timeline()
    served: list[int] = []
    station = Station[int](timeline, lambda batch: 1.0 + len(batch), lambda batch: served.extend(batch), most)
    order = sorted(range(len(arrivals)), key=arrivals.__getitem__)
    for place in order:
        timeline.after(arrivals[place], lambda own=place: station.put(own))
    assert sum(1 for _ in _steps(timeline)) >= len(arrivals)
    assert served == order
    assert len(arrivals) + len(arrivals) / most <= station.busy_s + 1e-9 <= 2 * len(arrivals) + 2e-9


def test_a_station_that_rests_gathers_what_comes_meanwhile() -> None:
    timeline = Timeline()
    batches: list[int] = []
    station = Station[int](timeline, lambda batch: 1.0, lambda batch: batches.append(len(batch)), every_s=5.0)
    for second in range(10):
        timeline.after(second, lambda own=second: station.put(own))
    assert sum(1 for _ in _steps(timeline)) > 0
    assert batches == [1, 5, 4]


def _steps(timeline: Timeline) -> Iterator[None]:
    while timeline.step():
        yield
