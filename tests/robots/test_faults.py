"""Faults are injected as they are written down, the same ones for the same seed."""

from __future__ import annotations

import itertools
import time
from collections import Counter

import pytest

from yardarm.errors import UsageError
from yardarm.robots.motors import FeetechBus
from yardarm.robots.so_arm import SO_MOTORS
from yardarm.robots.twins.chain import MotorChain
from yardarm.robots.twins.factory import chain_of
from yardarm.robots.twins.faults import FaultInjector, parse_faults
from yardarm.robots.twins.port import Outgoing

PROTOCOL = FeetechBus.protocol
ALL_POSITIONS = PROTOCOL.sync_read(range(1, 7), 56, 2)


def injector_of(faults: str) -> tuple[FaultInjector, MotorChain]:
    """An injector whose clock goes on by a second with each request."""
    chain = chain_of(SO_MOTORS)
    seconds = itertools.count()
    plan = parse_faults(faults, SO_MOTORS)
    injector = FaultInjector(
        plan, chain, lambda content: map(Outgoing, chain.take(content)), lambda: max(0, next(seconds) - 1)
    )
    return injector, chain


def answers(faults: str, requests: int = 200) -> tuple[list[Outgoing], Counter[str]]:
    injector, _ = injector_of(faults)
    return [out for _ in range(requests) for out in injector.answer(ALL_POSITIONS)], injector.injected


def who_answers(injector: FaultInjector) -> list[int]:
    return [out.content[2] for out in injector.answer(ALL_POSITIONS)]


def test_a_rate_alone_is_shared_by_all_disturbances() -> None:
    _, injected = answers("0.1")
    assert set(injected) == {"lost", "late", "corrupted", "truncated", "noise"}
    assert 80 <= sum(injected.values()) <= 160  # of 1200


def test_the_same_seed_gives_the_same_faults() -> None:
    said = [[out.content for out in answers(f"0.2,seed={seed}")[0]] for seed in (3, 3, 4)]
    assert said[0] == said[1] != said[2]


def test_each_disturbance_does_what_its_name_says() -> None:
    good = [out.content for out in answers("")[0]]
    assert len(good) == 1200
    assert answers("lost=1")[0] == []
    assert all(len(out.content) < 8 for out in answers("truncated=1")[0])
    assert all(out.content[-8:] == own for out, own in zip(answers("noise=1")[0], good, strict=True))
    for out, own in zip(answers("corrupted=1")[0], good, strict=True):
        assert sum(a != b for a, b in zip(out.content, own, strict=True)) == 1
    now = time.monotonic()
    assert all(0.06 <= out.not_before - now < 30 for out in answers("late=1", 1)[0])


def test_a_motor_never_overtakes_itself() -> None:
    injector, _ = injector_of("late=0.5,lateness=1000,seed=1")
    first, second = ([out.not_before for out in injector.answer(ALL_POSITIONS)] for _ in range(2))
    assert min(first) == 0 < max(first)
    assert all(before <= after for before, after in zip(first, second, strict=True))


def test_an_unplugged_motor_is_silent_and_comes_back_without_torque() -> None:
    injector, chain = injector_of("unplugged=elbow_flex@2-4")
    chain.servos[2].set("Torque_Enable", 1)
    assert [3 in who_answers(injector) for _ in range(5)] == [True, True, False, False, True]
    assert chain.servos[2].get("Torque_Enable") == 0
    assert injector.injected == {"unplugged": 1}


def test_times_can_be_requests() -> None:
    injector, _ = injector_of("unplugged=gripper@1-2r")
    assert [6 in who_answers(injector) for _ in range(4)] == [True, False, True, True]


def test_an_overloaded_motor_complains() -> None:
    injector, _ = injector_of("overload=gripper@1-2")
    errors = [[out.content[4] for out in injector.answer(ALL_POSITIONS)] for _ in range(3)]
    assert errors == [[0] * 6, [0] * 5 + [0x20], [0] * 6]


def test_a_brown_out_silences_all_motors_and_keeps_what_is_in_the_eeprom() -> None:
    injector, chain = injector_of("brownout@1-2")
    for servo in chain.servos:
        servo.write(21, b"\x07")  # P_Coefficient, behind the lock
        servo.set("Goal_Position", 5)
    assert [len(who_answers(injector)) for _ in range(3)] == [6, 0, 6]
    assert all(servo.get("P_Coefficient") == 32 and servo.get("Goal_Position") == 0 for servo in chain.servos)


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ("los=0.1", "did you mean 'lost'?"),
        ("lost=2", "between 0 and 1"),
        ("lost=a", "'a' is not a number"),
        ("1.5", "between 0 and 1"),
        ("lost=0.6,late=0.6", "add up to 1.2"),
        ("unplugged=elbow@3", "did you mean 'elbow_flex'?"),
        ("unplugged=gripper", "say when"),
        ("overload@3", "overload=MOTOR@SECOND"),
        ("brownout", "say when"),
        ("seed=x", "seed=3"),
        ("lateness=1-x", "'x' is not a number"),
        ("=", "there is no fault ''"),
        ("-1", "between 0 and 1"),
        ("lost", "say how often: lost=0.02"),
        ("lateness=0.2-0.1", "the smaller number first"),
        ("unplugged=gripper@12-10", "ends before it begins"),
    ],
)
def test_a_mistake_is_one_line(faults: str, words: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_faults(faults, SO_MOTORS)
    assert words in str(error.value)
    assert "\n" not in str(error.value)
