"""The calibration of an arm: a person shows where its middle and its ends are."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from yardarm.robots.motors import JointSweep, MotorCalibration
from yardarm.robots.motors.registers import MODELS
from yardarm.robots.operator import Operator, Row

if TYPE_CHECKING:
    from yardarm.robots.bus_device import BusDevice

__all__ = ["calibrate_anew"]

READ_EVERY_S = 0.02
HEADINGS = ("joint", "smallest", "now", "largest", "travel", "")


def calibrate_anew(device: BusDevice, operator: Operator) -> dict[str, MotorCalibration]:
    """Ask for the middle and for a sweep; returns what was found, which is in the motors, too."""
    bus = device.bus
    bus.disable_torque()
    bus.write_all("Operating_Mode", device.calibration_mode)
    bus.write_all("Drive_Mode", 1, device.reversed)
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


def _sweep(device: BusDevice, operator: Operator) -> dict[str, JointSweep]:
    """Follow the joints until the person presses Enter and has moved all of them."""
    bus, names = device.bus, [name for name in device.motors if name not in device.full_turn]
    turning = f" (all but {', '.join(device.full_turn)})" if device.full_turn else ""
    operator.say(f"Now move each joint{turning} slowly from one end to the other. Press ENTER when you are done.")
    start = bus.sync_read("Present_Position", names, normalize=False, retries=device.config.num_read_retries)
    sweeps = {
        name: JointSweep(name, int(start[name]), MODELS[bus.motors[name].model].resolution, bus.wraps) for name in names
    }
    while True:
        readings = bus.sync_read("Present_Position", names, normalize=False, retries=device.config.num_read_retries)
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
