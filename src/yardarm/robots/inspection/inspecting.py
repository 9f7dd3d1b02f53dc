"""An arm's report: which motors are there, how they are, what is wrong. Nothing is written, and nothing moves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from yardarm.errors import BusFault, UsageError
from yardarm.robots.bus_device import BusDevice
from yardarm.robots.device import Device
from yardarm.robots.inspection.motor_state import MotorState, read_state
from yardarm.robots.inspection.problems import Problem, missing_motors, wrong_states, wrong_with_motor
from yardarm.robots.inspection.scanning import BAUD_RATES, BUSES, PortScan
from yardarm.robots.motors import Motor, MotorBus, MotorCalibration
from yardarm.robots.motors.register_bus import BAUD_RATE
from yardarm.robots.motors.registers import MODELS, model
from yardarm.robots.motors.setup import FoundMotor, find_motors_at
from yardarm.robots.pair import ArmPair

__all__ = ["ArmReport", "MotorReport", "inspect_device", "inspect_port"]

RETRIES = 2


@dataclass(frozen=True, slots=True)
class MotorReport:
    """A motor of an arm."""

    name: str
    id: int
    state: MotorState | None
    """None: it does not answer, or nobody knows its model."""
    range: tuple[int, int] | None
    """The ends of its joint in steps: the file's, or else its own."""


@dataclass(frozen=True, slots=True)
class ArmReport:
    """An arm on one port."""

    arm: str
    port: str
    calibration: str
    """Where its calibration is; empty if it has none."""
    motors: tuple[MotorReport, ...]
    problems: tuple[Problem, ...]

    def to_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)


def inspect_device(device: Device) -> list[ArmReport]:
    """Look at an arm, or at both arms of a pair; motors may be missing."""
    if isinstance(device, ArmPair):
        return [_inspect_arm(arm) for arm in device.arms.values()]
    if isinstance(device, BusDevice):
        return [_inspect_arm(device)]
    raise UsageError(f"{device} has no motors on a bus that could be looked at")


def inspect_port(scan: PortScan) -> ArmReport:
    """Look at whatever answers on a port."""
    motors = {f"motor {found.id}": Motor(found.id, found.model, "") for found in scan.motors}
    bus = BUSES[scan.vendor](scan.port, motors)
    bus.connect(handshake=False)
    try:
        bus.line.set_baud_rate(scan.motors[0].baud_rate)
        looks = {name: _look(bus, name) for name in motors}
    finally:
        bus.line.close()
    reports = [_motor_report(name, motor, looks[name].state, {}) for name, motor in motors.items()]
    return ArmReport(scan.in_words(), scan.port, "", tuple(reports), tuple(_motor_problems(motors, looks, {})))


def _inspect_arm(arm: BusDevice) -> ArmReport:
    bus = arm.bus
    bus.connect(handshake=False)
    try:
        looks = {name: _look(bus, name) for name in bus.motors}
        present = {name for name, look in looks.items() if look.is_there}
        missing_some = len(present) < len(bus.motors)
        strangers = _strangers(bus, [bus.motors[name].id for name in present]) if missing_some else []
    finally:
        bus.line.close()
    problems = [
        *missing_motors(bus.motors, present, strangers),
        *_motor_problems(bus.motors, looks, arm.calibration),
        *_calibration_problems(arm, {name: look.state for name, look in looks.items() if look.state}),
    ]
    return ArmReport(
        str(arm),
        bus.line.port,
        str(arm.calibration_fpath) if arm.calibration else "",
        tuple(_motor_report(name, motor, looks[name].state, arm.calibration) for name, motor in bus.motors.items()),
        tuple(problems),
    )


@dataclass(frozen=True, slots=True)
class _Look:
    """What was learned of one motor."""

    is_there: bool
    state: MotorState | None = None
    problem: Problem | None = None


def _look(bus: MotorBus, name: str) -> _Look:
    """Ask a motor what it is, and how; whatever its model is, and even if it does not always answer."""
    motor = bus.motors[name]
    pong = bus.ping(motor.id, RETRIES)
    if pong is None:
        return _Look(is_there=False)
    try:
        found = model(bus.model_number(motor.id, pong))
        if found not in MODELS:
            return _Look(True, problem=Problem(f"{name} is an {found}", "is the type of the arm right?"))
        real = type(bus)(bus.line.port, {name: replace(motor, model=found)})
        real.line = bus.line  # it is open, and may be logged
        return _Look(True, read_state(real, name, pong))
    except BusFault as fault:
        return _Look(True, problem=Problem(f"{name} does not always answer ({fault})", "check the plugs of its cable"))


def _motor_problems(
    motors: Mapping[str, Motor], looks: Mapping[str, _Look], file: Mapping[str, MotorCalibration]
) -> Iterator[Problem]:
    states = {name: look.state for name, look in looks.items() if look.state}
    yield from (look.problem for look in looks.values() if look.problem)
    for name, state in states.items():
        yield from wrong_with_motor(name, motors[name], state, file.get(name))
    yield from wrong_states(states)


def _strangers(bus: MotorBus, present: Iterable[int]) -> list[FoundMotor]:
    """Motors that the arm does not have, or that are at another speed."""
    known, strangers = set(present), []
    try:
        for baud_rate in BAUD_RATES.get(type(bus), [BAUD_RATE]):
            found = [own for own in find_motors_at(bus, baud_rate) if own.id not in known]
            strangers += found
            known |= {own.id for own in found}
    finally:
        bus.line.set_baud_rate(BAUD_RATE)
    return strangers


def _motor_report(
    name: str, motor: Motor, state: MotorState | None, file: Mapping[str, MotorCalibration]
) -> MotorReport:
    ends = (file[name].range_min, file[name].range_max) if name in file else _own_range(state)
    return MotorReport(name, motor.id, state, ends)


def _own_range(state: MotorState | None) -> tuple[int, int] | None:
    return (state.calibration.range_min, state.calibration.range_max) if state else None


def _calibration_problems(arm: BusDevice, states: Mapping[str, MotorState]) -> list[Problem]:
    if not arm.calibration:
        return [Problem(f"there is no calibration at {arm.calibration_fpath}", "run `yardarm calibrate`")]
    differing = [
        name
        for name, state in states.items()
        if name in arm.calibration and not arm.bus_class.keeps(state.calibration, arm.calibration[name])
    ]
    if not differing:
        return []
    return [
        Problem(
            f"the calibration of {', '.join(differing)} is not that of {arm.calibration_fpath}",
            "run `yardarm calibrate`, and press ENTER to write the file's into the motors",
        )
    ]
