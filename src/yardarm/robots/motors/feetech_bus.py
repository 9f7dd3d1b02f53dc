"""Feetech's motors on a bus: STS and SMS."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from yardarm.errors import BusFault
from yardarm.robots.motors.bus import MotorBus
from yardarm.robots.motors.calibration import MotorCalibration
from yardarm.robots.motors.feetech import FeetechProtocol
from yardarm.robots.motors.health import HealthRegisters
from yardarm.robots.motors.register_bus import RETRIES
from yardarm.robots.motors.registers import FEETECH_STS, MODELS
from yardarm.robots.motors.sweep import half_turn, home_offset
from yardarm.robots.motors.wire import Status, WireProtocol

__all__ = ["FeetechBus"]

MODEL = FEETECH_STS["Model_Number"]
# With this bit of Phase, a position counts turns and leaves 0 … 4095.
COUNTS_TURNS = 0x10
FASTEST = 254
# The sign is in bit 11.
LARGEST_OFFSET = 2047


class FeetechBus(MotorBus):
    """They complain, and obey; an offset and limits are all that they keep of a calibration."""

    protocol: ClassVar[WireProtocol] = FeetechProtocol()
    baud_codes: ClassVar[Mapping[int, int]] = {
        1_000_000: 0,
        500_000: 1,
        250_000: 2,
        128_000: 3,
        115_200: 4,
        57_600: 5,
        38_400: 6,
        19_200: 7,
    }
    applies_drive_mode = True
    wraps = True
    refuses_with_torque = False
    health_registers = HealthRegisters(
        "Present_Load", "Present_Temperature", "Present_Voltage", temperature_limit="Max_Temperature_Limit"
    )
    # The lock is that of the EEPROM.
    torque_registers = ("Torque_Enable", "Lock")

    def configure_motors(self, acceleration: int = FASTEST) -> None:
        """Answer at once, accelerate freely, and keep positions within a turn."""
        for name in self.motors:
            self.write("Return_Delay_Time", name, 0)
            self.write("Maximum_Acceleration", name, acceleration)
            self.write("Acceleration", name, acceleration)
            phase = int(self.read("Phase", name))
            if phase & COUNTS_TURNS:
                self.write("Phase", name, phase & ~COUNTS_TURNS)

    @classmethod
    def keeps(cls, stored: MotorCalibration, calibration: MotorCalibration) -> bool:
        """Offset and limits are all that they keep."""
        return replace(stored, id=calibration.id, drive_mode=calibration.drive_mode) == calibration

    def read_calibration(self) -> dict[str, MotorCalibration]:
        """The offsets and limits that the motors have."""
        stored = {}
        for name, motor in self.motors.items():
            low, high, offset = (
                int(self.read(register, name))
                for register in ("Min_Position_Limit", "Max_Position_Limit", "Homing_Offset")
            )
            stored[name] = MotorCalibration(motor.id, 0, offset, low, high)
        return stored

    def offset_to_middle(self, name: str, position: int) -> int:
        """A motor shows its bare position minus the offset."""
        resolution = MODELS[self.motors[name].model].resolution
        return home_offset(position - half_turn(resolution), resolution, LARGEST_OFFSET)

    def moved_offset(self, offset: int, shift: int) -> int:
        """A larger offset lowers readings; one that does not fit has an equivalent that does."""
        return home_offset(offset + shift, 4096, LARGEST_OFFSET)

    def model_number(self, id: int, pong: Status) -> int:
        """It has to be asked for."""
        request = self.protocol.read(id, MODEL.address, MODEL.size)
        answers = self._ask(request, {id: MODEL.size}, RETRIES, "reading Model_Number")
        return int.from_bytes(answers[id].params, self.byte_order)

    def _handshake(self) -> None:
        """All motors must be there, and have the same firmware."""
        super()._handshake()
        versions = {
            name: tuple(
                int(self.read(register, name)) for register in ("Firmware_Major_Version", "Firmware_Minor_Version")
            )
            for name in self.motors
        }
        if len(set(versions.values())) > 1:
            listed = ", ".join(f"{name} {major}.{minor}" for name, (major, minor) in versions.items())
            raise BusFault(f"the motors have different firmware ({listed}); update it with Feetech's FD software")
