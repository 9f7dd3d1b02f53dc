"""A sweep finds a joint's ends wherever the seam of its readings is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yardarm.errors import UsageError
from yardarm.robots.motors.sweep import JointSweep, half_turn, home_offset

TURN = 4096


def swept(start: int, low: int, high: int, step: int = 300) -> JointSweep:
    """Sweep a joint from its start to both ends; positions are counted on, readings are not."""
    sweep = JointSweep("elbow_flex", start % TURN, TURN, wraps=True)
    path = [*range(start, low, -step), low, *range(low, high, step), high]
    for position in path:
        sweep.add(position % TURN)
    return sweep


@given(
    start=st.integers(0, TURN - 1),
    down=st.integers(0, 2000),
    up=st.integers(200, 2000),
)
def test_the_travel_is_found_wherever_the_seam_is(start: int, down: int, up: int) -> None:
    found = swept(start, start - down, start + up).result()
    assert found.high - found.low == down + up
    assert 0 <= found.low < found.high < TURN
    # A reading of the start, with the middle moved, is as far from the ends as the joint is.
    assert (start - found.shift - found.low) % TURN == down


@given(low=st.integers(0, 1900), high=st.integers(2200, TURN - 1))
def test_a_travel_that_does_not_cross_the_seam_is_left_alone(low: int, high: int) -> None:
    found = swept(half_turn(TURN), low, high).result()
    assert (found.low, found.high, found.shift) == (low, high, 0)


def test_a_joint_that_was_not_moved_is_named() -> None:
    sweep = swept(2047, 2000, 2100)
    assert sweep.missing == "elbow_flex: only 9° so far"
    with pytest.raises(UsageError, match=r"elbow_flex moved by 8\.8° only"):
        sweep.result()


def test_more_than_a_turn_cannot_be_right() -> None:
    with pytest.raises(UsageError, match="more than a turn"):
        swept(2047, 100, 5000).result()


@given(offset=st.integers(-20_000, 20_000))
def test_an_offset_always_fits_into_the_motor(offset: int) -> None:
    stored = home_offset(offset, TURN, 2047)
    assert abs(stored) <= 2047
    assert (stored - offset) % TURN in (0, 1)


def test_the_offset_that_crashes_lerobot_is_one_step_short() -> None:
    assert home_offset(4095 - half_turn(TURN), TURN, 2047) == -2047
