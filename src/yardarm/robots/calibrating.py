"""The calibration of an arm: a person shows where its middle and its ends are."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from yardarm.errors import RobotFault, UsageError
from yardarm.robots.motors import JointSweep, MotorBus, MotorCalibration, read_calibration_file
from yardarm.robots.motors.registers import MODELS
from yardarm.robots.operator import Operator, Row
from yardarm.robots.uninterrupted import uninterrupted

if TYPE_CHECKING:
    from yardarm.robots.bus_device import BusDevice

__all__ = [
    "calibrate_anew",
    "calibrate_as_built",
    "check_calibration",
    "give_calibration",
    "previous_calibration",
    "undo_calibration",
    "write_drive_modes",
]

READ_EVERY_S = 0.02
RETRIES = 5
HEADINGS = ("joint", "smallest", "now", "largest", "travel", "")


def calibrate_anew(device: BusDevice, operator: Operator) -> dict[str, MotorCalibration]:
    """Ask for the middle and for a sweep; returns what was found, which is in the motors, too.

    The motors must be without torque. If it does not come to its end, the motors get back what they had.
    """
    bus = device.bus
    with _put_back_unless_done(device, operator):
        bus.write_all("Operating_Mode", device.calibration_mode)
        bus.write_all("Drive_Mode", 1, device.reversed)
        bus.write_all("Drive_Mode", 0, _wrongly_reversed(device))
        bus.reset_calibration()
        operator.ask(f"Move {device} to the middle of all its joints, then press ENTER.")
        offsets = bus.home()
        sweeps = _sweep(device, operator)
        found = {}
        for name, motor in bus.motors.items():
            mode = int(name in device.reversed)
            if name in sweeps:
                own = sweeps[name].result()
                offset = bus.moved_offset(offsets[name], own.shift) if own.shift else offsets[name]
                found[name] = MotorCalibration(motor.id, mode, offset, own.low, own.high)
            else:
                found[name] = MotorCalibration(motor.id, mode, offsets[name], 0, MODELS[motor.model].resolution - 1)
        bus.write_calibration(found)
    return found


def calibrate_as_built(device: BusDevice, offsets: Mapping[str, int]) -> dict[str, MotorCalibration]:
    """The calibration of an arm that nobody has to show anything; joints without an offset have 0."""
    bus = device.bus
    bus.disable_torque()
    bus.write_all("Operating_Mode", device.calibration_mode)
    for name in bus.motors:
        bus.write("Drive_Mode", name, int(name in device.reversed))
    found = {
        name: MotorCalibration(
            motor.id, int(name in device.reversed), offsets.get(name, 0), 0, MODELS[motor.model].resolution - 1
        )
        for name, motor in bus.motors.items()
    }
    bus.write_calibration(found)
    return found


def give_calibration(bus: MotorBus, calibration: Mapping[str, MotorCalibration]) -> None:
    """Write a calibration into the motors, with their directions where they keep them."""
    bus.disable_torque(num_retry=RETRIES)
    write_drive_modes(bus, calibration)
    bus.write_calibration(calibration)


def write_drive_modes(
    bus: MotorBus,
    calibration: Mapping[str, MotorCalibration],
    stored: Mapping[str, MotorCalibration] | None = None,
) -> None:
    """Write the directions into motors that keep them: those that differ from what is `stored`, if that is known."""
    if bus.applies_drive_mode:
        return
    for name, own in calibration.items():
        if stored is None or stored[name].drive_mode != own.drive_mode:
            bus.write("Drive_Mode", name, own.drive_mode, num_retry=RETRIES)


def undo_calibration(device: BusDevice) -> None:
    """Put the calibration before the last one back into the motors and the file; a second call redoes it."""
    calibration = previous_calibration(device)
    give_calibration(device.bus, calibration)
    device.calibration = calibration
    device.save_calibration()


def previous_calibration(device: BusDevice) -> dict[str, MotorCalibration]:
    """The calibration before the last one, if there is one for this arm."""
    path = device.previous_calibration_fpath
    if not path.is_file():
        raise UsageError(f"there is no calibration of {device} to go back to: {path} is missing")
    calibration = read_calibration_file(path)
    check_calibration(device, calibration, path)
    return calibration


def check_calibration(device: BusDevice, calibration: Mapping[str, MotorCalibration], path: Path) -> None:
    """Raise unless a file is for this arm's motors, and they can keep it."""
    if calibration.keys() != device.bus.motors.keys():
        raise UsageError(
            f"{path} is for {', '.join(calibration)}, but {device} has {', '.join(device.bus.motors)}; "
            "move the file away, and calibrate anew"
        )
    for name, own in calibration.items():
        try:
            device.bus.check_calibration(name, own)
        except UsageError as error:
            raise UsageError(f"{path}: {error}; move the file away, and calibrate anew") from None


def _wrongly_reversed(device: BusDevice) -> list[str]:
    """The joints whose motors are known to turn the other way round, and must not."""
    stored = device.bus.stored or {}
    return [name for name, own in stored.items() if own.drive_mode and name not in device.reversed]


@contextmanager
def _put_back_unless_done(device: BusDevice, operator: Operator) -> Iterator[None]:
    """Give the motors back what they had before, if that is known and the block is left early."""
    before = device.bus.stored
    try:
        yield
    except BaseException:
        if before is not None:
            _put_back(device, operator, before)
        raise


def _put_back(device: BusDevice, operator: Operator, before: Mapping[str, MotorCalibration]) -> None:
    try:
        with uninterrupted():
            give_calibration(device.bus, before)
    except RobotFault as fault:
        operator.say(
            f"\nThe calibration was not finished, and the motors of {device} could not get back the one before: {fault}"
        )
    else:
        device.bus.calibration = dict(device.calibration)
        operator.say(f"\nThe calibration was not finished; the motors of {device} have the one before again.")


def _sweep(device: BusDevice, operator: Operator) -> dict[str, JointSweep]:
    """Follow the joints until the person presses Enter and has moved all of them."""
    bus, names = device.bus, [name for name in device.motors if name not in device.full_turn]
    turning = f" (all but {', '.join(device.full_turn)})" if device.full_turn else ""
    operator.say(f"Now move each joint{turning} slowly from one end to the other. Press ENTER when you are done.")
    start = bus.sync_read("Present_Position", names, normalize=False, num_retry=device.config.num_read_retries)
    sweeps = {
        name: JointSweep(name, int(start[name]), MODELS[bus.motors[name].model].resolution, bus.wraps) for name in names
    }
    while True:
        readings = bus.sync_read("Present_Position", names, normalize=False, num_retry=device.config.num_read_retries)
        for name, reading in readings.items():
            sweeps[name].add(int(reading))
        operator.show([HEADINGS, *(_row(sweep) for sweep in sweeps.values())])
        if operator.has_answered():
            missing = [sweep.missing for sweep in sweeps.values() if sweep.missing]
            if not missing:
                return sweeps
            operator.say(f"Not yet: {'; '.join(missing)}. Go on, and press ENTER when you are done.")
        time.sleep(READ_EVERY_S)


def _row(sweep: JointSweep) -> Row:
    return (sweep.name, str(sweep.low), str(sweep.position), str(sweep.high), f"{sweep.degrees:.0f}°", sweep.missing)
