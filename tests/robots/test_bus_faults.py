"""Whatever happens on the way: a bus returns what its motors said to this very question, or an error of ours."""

from __future__ import annotations

import contextlib
import os
import pty
import tty
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.robots.twin_port import twin_of
from yardarm.errors import BusFault
from yardarm.robots import make_robot
from yardarm.robots.inspection.motor_state import read_state
from yardarm.robots.koch import KochFollower
from yardarm.robots.motors import DynamixelBus, FeetechBus, MotorBus, read_calibration_file
from yardarm.robots.motors.feetech import packet
from yardarm.robots.motors.line import LineCounts
from yardarm.robots.motors.register_bus import BusCounts
from yardarm.robots.motors.wire import Status
from yardarm.robots.so_arm import SO_MOTORS
from yardarm.robots.twins.chain import DynamixelSide, MotorChain
from yardarm.robots.twins.factory import chain_of
from yardarm.robots.twins.faults import FaultInjector, parse_faults
from yardarm.robots.twins.port import Outgoing, PortServer

GOLDEN = Path(__file__).parents[1] / "golden" / "robots"
BUSES = {"feetech": (FeetechBus, SO_MOTORS), "dynamixel": (DynamixelBus, KochFollower.motors)}
each = pytest.mark.parametrize("kind", list(BUSES))


@contextlib.contextmanager
def moving(kind: str, faults: str) -> Iterator[tuple[MotorBus, MotorChain]]:
    """A bus to motors that move with every request, so that whatever is old is wrong."""
    bus_class, motors = BUSES[kind]
    chain = chain_of(motors)
    injector = FaultInjector(parse_faults(faults, motors), chain, lambda content: map(Outgoing, chain.take(content)))
    happen, requests = chain.before_request, iter(range(1, 1_000_000))

    def move() -> None:
        happen()
        request = next(requests)
        for number, servo in enumerate(chain.servos):
            servo.shaft = 7 * request + 500 * number

    chain.before_request = move
    with PortServer(injector.answer) as port:
        bus = bus_class(port.path, motors)
        bus.line.patience_s = 0.02
        bus.connect(handshake=False)
        yield bus, chain
        bus.disconnect(disable_torque=False)


rates = st.fixed_dictionaries({kind: st.floats(0, 0.1) for kind in ("lost", "late", "corrupted", "truncated", "noise")})
events = st.lists(
    st.sampled_from(["unplugged=elbow_flex@5-9r", "overload=gripper@3-8r", "brownout@12-16r", "unplugged=gripper@9r"]),
    unique=True,
    max_size=2,
)
questions = st.lists(st.sampled_from(["sync_read", "read", "write", "sync_write"]), min_size=3, max_size=12)


@each
@given(rates=rates, events=events, seed=st.integers(0, 1000), questions=questions)
@settings(max_examples=12, deadline=None)
def test_no_value_is_ever_wrong(
    kind: str, rates: dict[str, float], events: list[str], seed: int, questions: list[str]
) -> None:
    said = [f"{name}={rate:.3f}" for name, rate in rates.items()]
    with moving(kind, ",".join([*said, *events, f"seed={seed},lateness=0.01-0.08"])) as (bus, chain):
        for number, question in enumerate(questions):
            with contextlib.suppress(BusFault):
                check(bus, chain, question, number)


def check(bus: MotorBus, chain: MotorChain, question: str, number: int) -> None:
    """Ask for something, and hold the answer against the motors: since the last request, they have not moved."""
    servos = dict(zip(bus.motors, chain.servos, strict=True))
    match question:
        case "sync_read":
            for name, value in bus.sync_read("Present_Position", normalize=False).items():
                assert value == servos[name].present_position()
        case "read":  # of the same size as a position
            name = list(servos)[number % len(servos)]
            register = "Goal_Position" if number % 2 else "Present_Position"
            expected = int(bus.read(register, name, normalize=False))
            assert expected == (servos[name].get(register) if number % 2 else servos[name].present_position())
        case "write":
            bus.write("Goal_Position", "gripper", 1000 + number, normalize=False)
            assert servos["gripper"].get("Goal_Position") == 1000 + number
        case "sync_write":
            bus.sync_write("Goal_Position", {"wrist_roll": 2000 + number}, normalize=False)
            bus.read("Goal_Position", "wrist_roll", normalize=False)  # once this is answered, that has arrived
            if servos["wrist_roll"].powered:
                assert servos["wrist_roll"].get("Goal_Position") in (2000 + number, 0)  # 0: the power came back


@each
def test_a_late_answer_is_not_taken_for_the_next_ones(kind: str) -> None:
    with moving(kind, "late=0.2,lateness=0.03-0.09,seed=2") as (bus, chain):
        bus.retry_budget_s = 10.0
        goals = {"shoulder_pan": 5, "elbow_flex": 6}
        for name, goal in goals.items():
            bus.write("Goal_Position", name, goal, normalize=False)
        for _ in range(6):
            for name, goal in goals.items():
                assert bus.read("Goal_Position", name, normalize=False) == goal
                position = bus.read("Present_Position", name, normalize=False)
                assert position == chain.servos[list(bus.motors).index(name)].present_position()
        assert bus.line.counts.late > 0
        assert bus.counts.retries > 0


def test_noise_inside_of_an_answer_cannot_make_another_one() -> None:
    """A byte too many, and the checksum is right: that one byte is left over gives it away."""
    good = packet(1, 0, b"\x34\x02")
    script = [good[:6] + b"\xc4" + good[6:], good]
    with PortServer(lambda content: [Outgoing(script.pop(0))]) as port:
        bus = FeetechBus(port.path, {"shoulder_pan": SO_MOTORS["shoulder_pan"]})
        bus.connect(handshake=False)
        assert FeetechBus.protocol.take(script[0], {1: (2,)})[0] == Status(1, 0, b"\x34\xc4")
        assert bus.read("Present_Position", "shoulder_pan", normalize=False) == 0x234
        bus.disconnect(disable_torque=False)


def test_a_request_that_a_motor_misheard_is_sent_again() -> None:
    chain = chain_of(KochFollower.motors)
    script = [DynamixelSide().answer(1, 3, b"")]

    def answer(content: bytes) -> list[Outgoing]:
        return [Outgoing(script.pop())] if script else [Outgoing(own) for own in chain.take(content)]

    with PortServer(answer) as port:
        bus = DynamixelBus(port.path, KochFollower.motors)
        bus.connect(handshake=False)
        assert bus.read("Model_Number", "shoulder_pan") == 1060
        assert bus.counts.retries == 1
        bus.disconnect(disable_torque=False)


@each
def test_every_disturbance_is_counted(kind: str) -> None:
    bus_class, motors = BUSES[kind]
    chain = chain_of(motors)
    plan = parse_faults("lost=0.01,corrupted=0.02,truncated=0.02,noise=0.02,seed=5", motors)
    injector = FaultInjector(plan, chain, lambda content: map(Outgoing, chain.take(content)))
    with PortServer(injector.answer) as port:
        bus = bus_class(port.path, motors)
        bus.connect(handshake=False)
        for _ in range(120):
            bus.sync_read("Present_Position", normalize=False)
        counts, injected = bus.line.counts, injector.injected
        bus.disconnect(disable_torque=False)
    assert set(injected) == {"lost", "corrupted", "truncated", "noise"}
    # Two of them side by side look like one; a stall of this machine looks like a lost answer.
    assert abs(counts.damaged - sum(injected[kind] for kind in ("corrupted", "truncated", "noise"))) <= 3
    assert counts.missing >= sum(injected[kind] for kind in ("lost", "corrupted", "truncated")) - 3


@pytest.mark.parametrize("name", ["so101_follower", "koch_follower"])
@pytest.mark.parametrize("seed", range(3))
def test_an_arm_connects_and_acts_through_faults(name: str, seed: int) -> None:
    calibration = read_calibration_file(GOLDEN / name / "calibration.json")
    with twin_of(name, calibration, f"0.03,seed={seed}") as twin:
        with make_robot(name, port=twin.path, id="calibration", calibration_dir=GOLDEN / name) as arm:
            for _ in range(5):
                arm.send_action(arm.get_observation())
        assert all(servo.get("Torque_Enable") == 0 for servo in twin.chain.servos)
    assert sum(twin.injected.values()) > 0


def test_a_motor_that_is_gone_is_named_and_may_come_back() -> None:
    with moving("feetech", "unplugged=elbow_flex@1-8r") as (bus, chain):
        bus.sync_read("Present_Position", normalize=False)
        with pytest.raises(BusFault, match=r"no answer from elbow_flex \(id 3\) on .* check power and cables"):
            bus.sync_read("Present_Position", normalize=False, num_retry=0)
        assert set(bus.line.owing) == {3}
        while chain.servos[2].powered is False:
            with contextlib.suppress(BusFault):
                bus.sync_read("Present_Position", normalize=False)
        bus.sync_read("Present_Position", normalize=False)
        assert not bus.line.owing


def test_a_port_that_takes_nothing_is_not_waited_for() -> None:
    motors, computer = pty.openpty()
    tty.setraw(computer)
    bus = FeetechBus(os.ttyname(computer), SO_MOTORS)
    bus.connect(handshake=False)
    with pytest.raises(BusFault, match=r"^the port \S+ does not take what is sent"):
        bus.line.tell(bytes(1_000_000))  # more than a terminal keeps
    bus.disconnect(disable_torque=False)
    os.close(motors)
    os.close(computer)


def test_what_happened_once_is_told_in_the_singular() -> None:
    said = BusCounts(retries=1).summary(LineCounts(missing=1, late=2, dropped_bytes=1))
    assert said == "1 answer was missing; 2 answers came late; 1 request was repeated; 1 byte was no answer"


@each
def test_there_is_one_definition_of_load(kind: str) -> None:
    with moving(kind, "") as (bus, chain):
        bus.line.patience_s = 0.5
        for servo in chain.servos:
            servo.set(bus.health_registers.load, 600)
        pongs = {name: bus.ping(motor.id, 10) for name, motor in bus.motors.items()}
        states = {name: read_state(bus, name, pong) for name, pong in pongs.items() if pong}
        loads = {name: own.load for name, own in bus.health().items() if own}
        assert set(loads) == set(bus.motors)
        assert {name: state.load for name, state in states.items()} == pytest.approx(loads)


def test_a_complaint_is_noted_and_the_value_is_good() -> None:
    with moving("feetech", "overload=gripper@0r") as (bus, chain):
        values: dict[str, Any] = bus.sync_read("Present_Position", normalize=False)
        assert values["gripper"] == chain.servos[-1].present_position()
        assert bus.counts.alerts == {"gripper (id 6)": {"overload"}}
