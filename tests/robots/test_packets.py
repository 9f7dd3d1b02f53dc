"""Whatever comes over the line: answers are found among noise, and damaged ones are never taken for good."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yardarm.robots.motors.dynamixel import STATUS, DynamixelProtocol
from yardarm.robots.motors.dynamixel import packet as dynamixel_packet
from yardarm.robots.motors.feetech import FeetechProtocol
from yardarm.robots.motors.feetech import packet as feetech_packet
from yardarm.robots.motors.wire import Status
from yardarm.robots.twins.chain import DynamixelSide, FeetechSide

SIDES = [(FeetechProtocol(), FeetechSide()), (DynamixelProtocol(), DynamixelSide())]
EXPECTED = {1: (2,), 2: (0, 2), 3: (4, 5)}
# Enough of what headers are made of to be dangerous.
NOISE = st.lists(st.sampled_from([0xFF, 0xFF, 0xFD, 0x00, 0x01, 0x02, 0x04, 0x55, 0x7F]), max_size=40).map(bytes)
STATUSES = st.sampled_from(sorted(EXPECTED)).flatmap(
    lambda id: st.builds(
        Status,
        st.just(id),
        st.integers(0, 0x7F),
        st.sampled_from(EXPECTED[id]).flatmap(lambda size: st.binary(min_size=size, max_size=size)),
    )
)
each = pytest.mark.parametrize(("protocol", "side"), SIDES, ids=["feetech", "dynamixel"])


def all_of(protocol: Any, received: bytes) -> list[Status]:
    found: list[Status] = []
    while True:
        status, done = protocol.take(received, EXPECTED)
        assert 0 <= done <= len(received)
        if status is None:
            return found
        found.append(status)
        received = received[done:]


@each
@given(noise=NOISE | st.binary(max_size=60))
def test_any_bytes_can_come(protocol: Any, side: Any, noise: bytes) -> None:
    all_of(protocol, noise)


@each
@given(
    statuses=st.lists(STATUSES, min_size=1, max_size=4),
    noise=st.binary(max_size=10).filter(lambda own: 0xFF not in own),
)
def test_answers_are_found_among_noise_wherever_the_bytes_are_cut(
    protocol: Any, side: Any, statuses: list[Status], noise: bytes
) -> None:
    received = noise + b"".join(side.answer(own.id, own.error, own.params) + noise for own in statuses)
    assert all_of(protocol, received) == statuses
    # Byte by byte, as a slow line brings them.
    found, waiting = [], b""
    for byte in received:
        waiting += bytes((byte,))
        status, done = protocol.take(waiting, EXPECTED)
        waiting = waiting[done:]
        found += [status] if status else []
    assert found == statuses


@each
@given(status=STATUSES, place=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_is_never_taken_for_another_answer(
    protocol: Any, side: Any, status: Status, place: float, bit: int
) -> None:
    damaged = bytearray(side.answer(status.id, status.error, status.params))
    damaged[int(place * len(damaged))] ^= 1 << bit
    assert all(own == status for own in all_of(protocol, bytes(damaged)))


@each
@given(data=st.binary(min_size=1, max_size=12), id=st.integers(0, 252))
def test_motors_understand_what_is_written_whatever_it_is(protocol: Any, side: Any, data: bytes, id: int) -> None:
    request, done = side.take(protocol.write(id, 42, data))
    assert request is not None
    assert (request.id, request.params[side.address_size :]) == (id, data)
    assert done == len(protocol.write(id, 42, data))


def test_answers_of_others_are_passed_over() -> None:
    mine, others = feetech_packet(1, 0, b"\x01\x02"), feetech_packet(9, 0, b"\x01\x02")
    assert all_of(FeetechProtocol(), others + mine) == [Status(1, 0, b"\x01\x02")]
    mine, others = dynamixel_packet(1, STATUS, b"\x00\x01\x02"), dynamixel_packet(9, STATUS, b"\x00\x01\x02")
    assert all_of(DynamixelProtocol(), others + mine) == [Status(1, 0, b"\x01\x02")]
