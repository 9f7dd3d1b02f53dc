"""A motor's memory: registers that are read and written, and where its shaft is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Literal

from yardarm.robots.motors.calibration import MotorCalibration
from yardarm.robots.motors.encoding import sign_magnitude, unsign_magnitude
from yardarm.robots.motors.registers import DYNAMIXEL_X, FEETECH_STS, MODELS, Register

__all__ = ["ACCESS", "DynamixelServo", "FeetechServo", "Servo"]

SIZE = 256
# Dynamixel's word for a register that cannot be written now.
ACCESS = 7


class Servo(ABC):
    """A motor as its bus sees it. `shaft` is where the bare encoder stands, in steps, counted on over turns."""

    registers: ClassVar[Mapping[str, Register]]
    byte_order: ClassVar[Literal["little", "big"]] = "little"
    overload: ClassVar[int]
    """The bit of an answer that says it has to push too hard."""

    def __init__(self, memory: bytes) -> None:
        self.memory = bytearray(memory.ljust(SIZE, b"\0"))
        self.shaft = 0
        self.error = 0
        """What it complains about in every answer."""
        self.powered = True
        """Without power it hears nothing, and says nothing."""

    @property
    def id(self) -> int:
        """Its id on the bus."""
        return self.get("ID")

    def get(self, name: str) -> int:
        """A register as a plain number."""
        own = self.registers[name]
        return int.from_bytes(self.memory[own.address : own.address + own.size], self.byte_order)

    def set(self, name: str, value: int) -> None:
        """Set a register, as the motor itself does it."""
        own = self.registers[name]
        self.memory[own.address : own.address + own.size] = (value % (1 << 8 * own.size)).to_bytes(
            own.size, self.byte_order
        )

    def read(self, address: int, size: int) -> bytes:
        """What the bus reads: what is measured is measured now."""
        self.set("Present_Position", self.present_position())
        return bytes(self.memory[address : address + size]).ljust(size, b"\0")

    def calibrate(self, calibration: MotorCalibration) -> None:
        """Have a calibration inside, as if it had been written long ago."""
        offset, sign_bit = calibration.homing_offset, self.registers["Homing_Offset"].sign_bit
        self.set("Homing_Offset", offset if sign_bit is None else sign_magnitude(offset, sign_bit))
        self.set("Min_Position_Limit", calibration.range_min)
        self.set("Max_Position_Limit", calibration.range_max)

    @abstractmethod
    def power_cycle(self) -> None:
        """Forget what is not in the EEPROM."""

    @abstractmethod
    def write(self, address: int, data: bytes) -> int:
        """What the bus writes; returns the error of the answer, 0 if there is none."""

    @abstractmethod
    def present_position(self) -> int:
        """What it says about its position."""


class FeetechServo(Servo):
    """STS and SMS motors. With the lock on, what is written to the EEPROM is lost when the power goes."""

    registers = FEETECH_STS
    overload = 0x20
    # What lies below is kept without power.
    eeprom_size: ClassVar[int] = 40

    def __init__(self, memory: bytes) -> None:
        super().__init__(memory)
        self.keep()

    def keep(self) -> None:
        """Keep what is in the memory over the loss of power, lock or no lock."""
        self.eeprom = bytes(self.memory[: self.eeprom_size])

    def calibrate(self, calibration: MotorCalibration) -> None:
        """Have a calibration inside; it keeps no drive mode."""
        super().calibrate(calibration)
        self.keep()

    def write(self, address: int, data: bytes) -> int:
        """It takes whatever fits."""
        self.memory[address : address + len(data)] = data
        if not self.get("Lock"):
            self.keep()
        return self.error

    def power_cycle(self) -> None:
        """Forget what is not in the EEPROM."""
        self.memory[:] = self.eeprom.ljust(SIZE, b"\0")

    def present_position(self) -> int:
        """The encoder less the offset, within a turn."""
        offset = unsign_magnitude(self.get("Homing_Offset"), FEETECH_STS["Homing_Offset"].sign_bit or 0)
        return (self.shaft - offset) % MODELS["sts3215"].resolution


class DynamixelServo(Servo):
    """The X series. With torque on, the EEPROM cannot be written."""

    registers = DYNAMIXEL_X
    overload = 0x80
    eeprom_size: ClassVar[int] = 64

    def calibrate(self, calibration: MotorCalibration) -> None:
        """Have a calibration inside, and the direction."""
        super().calibrate(calibration)
        self.set("Drive_Mode", calibration.drive_mode)

    def write(self, address: int, data: bytes) -> int:
        """It refuses what it cannot keep now."""
        if address < self.eeprom_size and self.get("Torque_Enable"):
            return ACCESS
        self.memory[address : address + len(data)] = data
        return self.error

    def power_cycle(self) -> None:
        """Forget what is not in the EEPROM."""
        self.memory[self.eeprom_size :] = bytes(SIZE - self.eeprom_size)

    def present_position(self) -> int:
        """The encoder, perhaps reversed, plus the offset, over many turns."""
        offset = int.from_bytes(self.memory[20:24], "little", signed=True)
        return (-self.shaft if self.get("Drive_Mode") & 1 else self.shaft) + offset
