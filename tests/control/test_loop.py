"""The loop: absolute deadlines, by any clock and with any work in its turns."""

from __future__ import annotations

import contextlib
import itertools
import math
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.control.fake_clock import FakeClock
from yardarm.control import Histogram, Loop
from yardarm.errors import UsageError

rates = st.floats(1, 250)
works = st.lists(st.floats(0, 0.5), min_size=1, max_size=60)
small = st.lists(st.floats(0, 0.1), max_size=60)


@given(rates, works, small, st.floats(0, 1e6))
def test_turns_are_on_a_grid_and_none_is_unaccounted_for(
    fps: float, work: list[float], oversleeps: list[float], start: float
) -> None:
    clock = FakeClock(start, oversleeps)
    loop = Loop(fps, clock)
    seconds = len(work) / fps
    beats = []
    for beat in loop.beats(seconds):
        beats.append(beat)
        clock.work(work[len(beats) - 1])
    grid = math.ceil(seconds * fps - 1e-6)
    assert loop.timing.done == len(beats)
    assert loop.timing.done + loop.timing.missed == grid
    for before, after in itertools.pairwise(beats):
        assert after.index > before.index
        assert after.began_s >= before.began_s
    for beat in beats:
        assert beat.due_s == start + beat.index / fps  # exactly: no error adds up
        assert beat.due_s <= beat.began_s  # never early
        assert (beat.began_s - beat.due_s) * fps < 1 + 1e-3  # never by a whole period too late


@given(rates, st.integers(1, 200))
def test_a_loop_whose_work_fits_is_never_late(fps: float, turns: int) -> None:
    clock = FakeClock()
    loop = Loop(fps, clock)
    for beat in loop.beats(turns / fps):
        assert beat.began_s == beat.due_s
        clock.work(0.9 / fps)
    assert (loop.timing.done, loop.timing.late, loop.timing.missed) == (turns, 0, 0)
    assert loop.timing.period_error.largest < 1e-9
    assert loop.timing.summary().startswith(f"{fps:g} Hz kept: {turns} turns, 0 late, 0 missed;")


def test_a_turn_that_takes_too_long_leaves_out_those_whose_time_is_over() -> None:
    clock = FakeClock()
    loop = Loop(10, clock)
    indices = []
    for beat in loop.beats(1.0):
        indices.append(beat.index)
        clock.work(0.35 if beat.index == 2 else 0.01)
    assert indices == [0, 1, 2, 5, 6, 7, 8, 9]  # 2 ends at 0.55, where 5 began 0.05 ago
    assert (loop.timing.missed, loop.timing.late) == (2, 1)
    assert loop.timing.period_error.largest == pytest.approx(0.255, abs=0.01)  # it sleeps for a moment, too
    assert loop.timing.summary().startswith("8 of 10 Hz: 8 turns, 1 late, 2 missed; period error median ")


@pytest.mark.parametrize("fps", [60, 250, 1e6])
def test_a_loop_that_cannot_keep_up_sleeps_all_the_same(fps: float) -> None:
    """At real-time priority, one that never sleeps would starve all others on its core."""
    clock = FakeClock()
    loop = Loop(fps, clock)
    for _ in loop.beats(10.0):
        clock.work(0.025)
    assert loop.timing.missed > 100
    assert clock.time - 0.025 * loop.timing.done > 0.02 * clock.time


def test_a_pause_between_two_rounds_is_no_period() -> None:
    clock = FakeClock()
    loop = Loop(10, clock)
    assert len(list(loop.beats(0.3))) == 3
    clock.work(60.0)
    assert [beat.index for beat in loop.beats(0.3)] == [0, 1, 2]
    assert loop.timing.missed == 0
    assert loop.timing.period_error.largest < 1e-9


def test_whoever_leaves_the_loop_early_misses_nothing() -> None:
    loop = Loop(10, FakeClock())
    for beat in loop.beats():
        if beat.index == 4:
            break
    assert (loop.timing.done, loop.timing.missed) == (5, 0)


def test_the_machines_clock_keeps_the_rate_on_average() -> None:
    loop = Loop(50)
    beats = list(loop.beats(0.5))
    assert beats[-1].index + 1 == loop.timing.done + loop.timing.missed == 25
    assert all(beat.began_s >= beat.due_s for beat in beats)
    assert beats[-1].due_s - beats[0].due_s == pytest.approx(beats[-1].index / 50)


@pytest.mark.parametrize("fps", [0, -1, math.nan, math.inf])
def test_a_rate_that_is_none_is_refused(fps: float) -> None:
    with pytest.raises(UsageError, match="fps must be positive"):
        Loop(fps)


def test_parts_of_a_turn_are_measured_even_if_they_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeClock()
    monkeypatch.setattr(time, "perf_counter", clock.now)
    timing = Loop(10, FakeClock()).timing
    with timing.part("observe"):
        clock.work(0.002)
    with contextlib.suppress(ValueError), timing.part("send"):
        clock.work(0.02)
        raise ValueError
    assert timing.parts_line() == "a turn: observe 2.0 ms (99% 2.0 ms), send 20 ms (99% 20 ms)"
    assert timing.to_data()["parts"]["send"]["worst"] == pytest.approx(0.02)


@given(st.lists(st.floats(1e-6, 100), min_size=1, max_size=300), st.sampled_from([0.01, 0.5, 0.9, 0.99, 1.0]))
def test_quantiles_are_within_four_percent(values: list[float], share: float) -> None:
    histogram = Histogram()
    for value in values:
        histogram.add(value)
    exact = sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
    assert exact * (1 - 1e-9) <= histogram.quantile(share) <= exact * 1.05
    assert histogram.largest == max(values)
    assert histogram.count == len(values)


def test_a_histogram_is_empty_at_first_and_negative_durations_count_as_none() -> None:
    histogram = Histogram()
    assert (histogram.quantile(0.5), histogram.mean) == (0.0, 0.0)
    histogram.add(-1.0)
    assert (histogram.count, histogram.largest, histogram.quantile(1.0)) == (1, 0.0, 0.0)


def test_timing_can_be_looked_at_while_the_loop_runs() -> None:
    loop = Loop(1000, FakeClock())
    problems: list[BaseException] = []
    over = threading.Event()

    def look() -> None:
        try:
            while not over.is_set():
                loop.timing.to_data()
        except BaseException as error:
            problems.append(error)

    thread = threading.Thread(target=look)
    thread.start()
    for beat in loop.beats(3):
        with loop.timing.part(f"part {beat.index % 50}"):
            pass
    over.set()
    thread.join()
    assert not problems


def test_a_correction_of_the_date_moves_no_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = itertools.cycle([0.0, 3600.0, -3600.0])
    monkeypatch.setattr(time, "time", lambda: 1e9 + next(steps))
    loop = Loop(50)
    beats = list(loop.beats(0.2))
    assert beats[-1].index + 1 == 10 == loop.timing.done + loop.timing.missed
    assert beats[-1].began_s - beats[0].began_s < 60
