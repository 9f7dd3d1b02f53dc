"""How a motor is: read from its registers."""

from __future__ import annotations

from dataclasses import dataclass

from yardarm.robots.motors import MotorBus, MotorCalibration
from yardarm.robots.motors.health import load_percent
from yardarm.robots.motors.registers import DYNAMIXEL_X, MODELS
from yardarm.robots.motors.wire import Status

__all__ = ["MotorState", "read_state"]

RETRIES = 2
# What a bit of Dynamixel's Hardware_Error_Status means.
HARDWARE_ERRORS = {
    0x01: "voltage",
    0x04: "overheating",
    0x08: "angle sensor",
    0x10: "electrical shock, or too little power",
    0x20: "overload",
}


@dataclass(frozen=True, slots=True)
class MotorState:
    """How a motor is, now. Positions are in steps."""

    id: int
    model: str
    firmware: str
    volts: float
    least_volts: float
    most_volts: float
    celsius: int
    most_celsius: int
    load: float
    """In percent of what it can do; the sign is the direction."""
    has_torque: bool
    position: int
    calibration: MotorCalibration
    """What it keeps of a calibration."""
    alerts: tuple[str, ...]
    """What it complains about."""


def read_state(bus: MotorBus, name: str, pong: Status) -> MotorState:
    """Ask a motor how it is; `pong` is its answer to a ping."""

    def read(register: str) -> int:
        return int(bus.read(register, name, normalize=False, num_retry=RETRIES))

    model = bus.motors[name].model
    full_load = bus.health_registers.full_load(model)
    is_dynamixel = MODELS[model].registers is DYNAMIXEL_X
    limits = read("Homing_Offset"), read("Min_Position_Limit"), read("Max_Position_Limit")
    alerts = bus.protocol.alerts(pong.error)
    if is_dynamixel:
        status = read("Hardware_Error_Status")
        alerts = tuple(text for bit, text in HARDWARE_ERRORS.items() if status & bit)
    return MotorState(
        id=bus.motors[name].id,
        model=model,
        firmware=str(read("Firmware_Version"))
        if is_dynamixel
        else f"{read('Firmware_Major_Version')}.{read('Firmware_Minor_Version')}",
        volts=read("Present_Input_Voltage" if is_dynamixel else "Present_Voltage") / 10,
        least_volts=read("Min_Voltage_Limit") / 10,
        most_volts=read("Max_Voltage_Limit") / 10,
        celsius=read("Present_Temperature"),
        most_celsius=read("Temperature_Limit" if is_dynamixel else "Max_Temperature_Limit"),
        load=load_percent(read(bus.health_registers.load), read(full_load) if full_load else None),
        has_torque=bool(read("Torque_Enable")),
        position=read("Present_Position"),
        calibration=MotorCalibration(bus.motors[name].id, read("Drive_Mode") if is_dynamixel else 0, *limits),
        alerts=alerts,
    )
