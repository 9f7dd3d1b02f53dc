"""An arm's report: which motors are there, how they are, what is wrong. Nothing is written, and nothing moves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from yardarm.errors import UsageError
from yardarm.robots.bus_device import BusDevice
from yardarm.robots.device import Device
from yardarm.robots.inspection.findings import Finding, missing_motors, wrong_states, wrong_with_motor
from yardarm.robots.inspection.motor_state import MotorState, read_state
from yardarm.robots.inspection.scanning import BUSES, PortScan
from yardarm.robots.motors import Motor, MotorBus, MotorCalibration
from yardarm.robots.motors.bus import BAUD_RATE
from yardarm.robots.motors.registers import MODELS, model
from yardarm.robots.motors.setup import FoundMotor, find_motors_at
from yardarm.robots.motors.wire import Status
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
    findings: tuple[Finding, ...]

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
    motors = {f"motor {found.id}": Motor(found.id, found.model, "") for found in scan.motors if found.model in MODELS}
    bus = BUSES[scan.vendor](scan.port, motors)
    bus.connect(handshake=False)
    try:
        bus.line.set_baud_rate(scan.motors[0].baud_rate)
        states = {name: state for name in motors if (state := _state(bus, name))}
    finally:
        bus.line.close()
    findings = [found for name, own in states.items() for found in wrong_with_motor(name, motors[name], own, None)]
    reports = [
        MotorReport(name, motor.id, states.get(name), _own_range(states.get(name))) for name, motor in motors.items()
    ]
    return ArmReport(scan.in_words(), scan.port, "", tuple(reports), (*findings, *wrong_states(states)))


def _inspect_arm(arm: BusDevice) -> ArmReport:
    bus = arm.bus
    bus.connect(handshake=False)
    try:
        pongs = {name: pong for name, own in bus.motors.items() if (pong := bus.ping(own.id, RETRIES))}
        numbers = {name: bus.model_number(bus.motors[name].id, pong) for name, pong in pongs.items()}
        strangers = _strangers(bus, [bus.motors[name].id for name in pongs]) if len(pongs) < len(bus.motors) else []
        real = _as_found(arm, numbers)
        real.line = bus.line  # it is open, and may be logged
        states = {name: read_state(real, name, pongs[name]) for name in real.motors}
    finally:
        bus.line.close()
    unknown = [
        Finding(f"{name} is an {model(number)}", "is the type of the arm right?")
        for name, number in numbers.items()
        if name not in states
    ]
    findings = [
        *missing_motors(bus.motors, pongs, strangers),
        *unknown,
        *(
            found
            for name, own in states.items()
            for found in wrong_with_motor(name, bus.motors[name], own, arm.calibration.get(name))
        ),
        *wrong_states(states),
        *_calibration_findings(arm, states),
    ]
    return ArmReport(
        str(arm),
        bus.line.port,
        str(arm.calibration_fpath) if arm.calibration else "",
        tuple(_motor_report(name, motor, states.get(name), arm.calibration) for name, motor in bus.motors.items()),
        tuple(findings),
    )


def _strangers(bus: MotorBus, present: Iterable[int]) -> list[FoundMotor]:
    """Motors that the arm does not have, or that are at another speed."""
    known, strangers = set(present), []
    try:
        for baud_rate in sorted(bus.baud_codes, key=lambda rate: rate != BAUD_RATE):
            found = [own for own in find_motors_at(bus, baud_rate) if own.id not in known]
            strangers += found
            known |= {own.id for own in found}
    finally:
        bus.line.set_baud_rate(BAUD_RATE)
    return strangers


def _as_found(arm: BusDevice, numbers: Mapping[str, int]) -> MotorBus:
    """The arm's bus with the motors that really are there, whatever their models."""
    motors = {
        name: replace(arm.bus.motors[name], model=model(number))
        for name, number in numbers.items()
        if model(number) in MODELS
    }
    return arm.bus_class(arm.bus.line.port, motors)


def _state(bus: MotorBus, name: str) -> MotorState | None:
    pong: Status | None = bus.ping(bus.motors[name].id, RETRIES)
    return read_state(bus, name, pong) if pong else None


def _motor_report(
    name: str, motor: Motor, state: MotorState | None, file: Mapping[str, MotorCalibration]
) -> MotorReport:
    ends = (file[name].range_min, file[name].range_max) if name in file else _own_range(state)
    return MotorReport(name, motor.id, state, ends)


def _own_range(state: MotorState | None) -> tuple[int, int] | None:
    return (state.calibration.range_min, state.calibration.range_max) if state else None


def _calibration_findings(arm: BusDevice, states: Mapping[str, MotorState]) -> list[Finding]:
    if not arm.calibration:
        return [Finding(f"there is no calibration at {arm.calibration_fpath}", "run `yardarm calibrate`")]
    differing = [
        name
        for name, state in states.items()
        if name in arm.calibration and not arm.bus_class.keeps(state.calibration, arm.calibration[name])
    ]
    if not differing:
        return []
    return [
        Finding(
            f"the calibration of {', '.join(differing)} is not that of {arm.calibration_fpath}",
            "run `yardarm calibrate`, and press ENTER to write the file's into the motors",
        )
    ]
