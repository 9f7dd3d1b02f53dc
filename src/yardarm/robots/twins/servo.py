"""A motor's memory: registers that are read and written, and where its shaft is.

What moves the shaft, and what measures load and heat, is the drive (`drive.py`); a motor without one just remembers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import ClassVar, Literal

from yardarm.robots.motors.calibration import MotorCalibration
from yardarm.robots.motors.encoding import sign_magnitude, twos_complement, unsign_magnitude, untwos_complement
from yardarm.robots.motors.registers import DYNAMIXEL_X, FEETECH_STS, MODELS, Register, model

__all__ = ["ACCESS", "LIMIT", "DynamixelServo", "FeetechServo", "Servo"]

SIZE = 256
# Dynamixel's words for a value out of its limits, and for a register that cannot be written now.
LIMIT, ACCESS = 6, 7
# Feetech's order to make the present position the middle of the turn, written to Torque_Enable.
SET_MIDDLE = 128


class Servo(ABC):
    """A motor as its bus sees it. `shaft` is where the bare encoder stands, in steps, counted on over turns."""

    registers: ClassVar[Mapping[str, Register]]
    byte_order: ClassVar[Literal["little", "big"]] = "little"
    eeprom_size: ClassVar[int]
    """What lies below is kept without power."""
    overload: ClassVar[int]
    """The bit of an answer that says it has to push too hard."""

    def __init__(self, memory: bytes) -> None:
        self.memory = bytearray(memory.ljust(SIZE, b"\0"))
        self.shaft = 0
        self.error = 0
        """What it complains about in every answer."""
        self.powered = True
        """Without power it hears nothing, and says nothing."""
        self.writes = 0
        """How often it was written to: whoever computes from registers sees that they may have changed."""
        self.torque_orders = 0
        """How often Torque_Enable was written: it ends what a protection began."""
        self.keep()

    @property
    def id(self) -> int:
        """Its id on the bus."""
        return self.get("ID")

    @property
    def model(self) -> str:
        """The name of its model."""
        return model(self.get("Model_Number"))

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

    def get_signed(self, name: str) -> int:
        """A register as the number that it means."""
        own = self.registers[name]
        if own.sign_bit is not None:
            return unsign_magnitude(self.get(name), own.sign_bit)
        return untwos_complement(self.get(name), own.size) if own.signed else self.get(name)

    def set_signed(self, name: str, value: int) -> None:
        """Set a register to a number that may be negative; one that is too large becomes the largest."""
        own = self.registers[name]
        if own.sign_bit is not None:
            largest = (1 << own.sign_bit) - 1
            value = sign_magnitude(min(max(value, -largest), largest), own.sign_bit)
        elif own.signed:
            value = twos_complement(value, own.size)
        self.set(name, value)

    def read(self, address: int, size: int) -> bytes:
        """What the bus reads: what is measured is measured now."""
        self.set_signed("Present_Position", self.present_position())
        return bytes(self.memory[address : address + size]).ljust(size, b"\0")

    def write(self, address: int, data: bytes) -> int:
        """What the bus writes; returns the error of the answer, 0 if there is none."""
        if refusal := self._refusal(address, data):
            return refusal
        had_torque = bool(self.get("Torque_Enable"))
        data = data[: SIZE - address]
        self.memory[address : address + len(data)] = data
        written = {name for name, own in self.registers.items() if address <= own.address < address + len(data)}
        self.writes += 1
        self.torque_orders += "Torque_Enable" in written
        self._obey(written)
        if self.get("Torque_Enable") and not had_torque and "Goal_Position" not in written:
            # It holds where it is, rather than jump to where it was sent long ago.
            self.set_signed("Goal_Position", self.present_position())
        return self.error

    def calibrate(self, calibration: MotorCalibration) -> None:
        """Have a calibration inside, as if it had been written long ago."""
        self.set_signed("Homing_Offset", calibration.homing_offset)
        self.set("Min_Position_Limit", calibration.range_min)
        self.set("Max_Position_Limit", calibration.range_max)
        self.keep()

    def keep(self) -> None:
        """Keep what is in the EEPROM's part of the memory over the loss of power."""
        self.eeprom = bytes(self.memory[: self.eeprom_size])

    def power_cycle(self) -> None:
        """Forget what is not in the EEPROM, and every complaint."""
        self.memory[:] = self.eeprom.ljust(SIZE, b"\0")
        self.error = 0
        self.writes += 1
        self.torque_orders += 1
        self._wake_up()

    @property
    def goal_shaft(self) -> int:
        """Where the shaft must go to reach Goal_Position."""
        return self.shaft + self._direction * (self._allowed_goal() - self.present_position())

    def direction_of(self, value: float) -> float:
        """A speed or a load of the shaft, as the motor counts it."""
        return value * self._direction

    @abstractmethod
    def present_position(self) -> int:
        """What it says about its position."""

    @abstractmethod
    def shaft_at(self, position: float) -> float:
        """Where the shaft is when the motor shows this position."""

    @property
    def _direction(self) -> int:
        """−1 if it counts against its encoder."""
        return 1

    def _allowed_goal(self) -> int:
        return self.get_signed("Goal_Position")

    def _refusal(self, address: int, data: bytes) -> int:
        """Why it does not take what is written; 0: it does."""
        return 0

    @abstractmethod
    def _obey(self, written: Collection[str]) -> None:
        """Do at once what some registers ask for."""

    @abstractmethod
    def _wake_up(self) -> None:
        """Set what has a value of its own after power comes back."""


class FeetechServo(Servo):
    """STS and SMS motors. With the lock on, what is written to the EEPROM is lost when the power goes."""

    registers = FEETECH_STS
    eeprom_size = 40
    overload = 0x20

    def present_position(self) -> int:
        """The encoder less the offset, within a turn."""
        return (self.shaft - self.get_signed("Homing_Offset")) % MODELS["sts3215"].resolution

    def shaft_at(self, position: float) -> float:
        """The position plus the offset."""
        return position + self.get_signed("Homing_Offset")

    def _allowed_goal(self) -> int:
        """The goal, or the limit that it lies beyond; two limits of zero mean none."""
        low, high, goal = self.get("Min_Position_Limit"), self.get("Max_Position_Limit"), super()._allowed_goal()
        return min(max(goal, low), high) if low or high else goal

    def _obey(self, written: Collection[str]) -> None:
        if self.get("Torque_Enable") == SET_MIDDLE:
            half = MODELS["sts3215"].resolution // 2
            shift = (self.shaft - half + half) % (2 * half) - half
            self.set_signed("Homing_Offset", shift)
            self.set("Torque_Enable", 0)
        if not self.get("Lock"):
            self.keep()

    def _wake_up(self) -> None:
        self.set("Lock", 1)
        self.set("Torque_Limit", self.get("Max_Torque_Limit"))


class DynamixelServo(Servo):
    """The X series. With torque on, the EEPROM cannot be written."""

    registers = DYNAMIXEL_X
    eeprom_size = 64
    overload = 0x80

    def calibrate(self, calibration: MotorCalibration) -> None:
        """Have a calibration inside, and the direction."""
        self.set("Drive_Mode", calibration.drive_mode)
        super().calibrate(calibration)

    def present_position(self) -> int:
        """The encoder, perhaps reversed, plus the offset, over many turns."""
        return self._direction * self.shaft + self.get_signed("Homing_Offset")

    def shaft_at(self, position: float) -> float:
        """The position less the offset, perhaps reversed."""
        return self._direction * (position - self.get_signed("Homing_Offset"))

    @property
    def _direction(self) -> int:
        return -1 if self.get("Drive_Mode") & 1 else 1

    def _refusal(self, address: int, data: bytes) -> int:
        """It refuses what it cannot keep now, and in position mode a goal beyond its limits."""
        if address < self.eeprom_size and self.get("Torque_Enable"):
            return ACCESS
        goal = self.registers["Goal_Position"]
        if address == goal.address and len(data) == goal.size and self.get("Operating_Mode") == 3:
            wanted = int.from_bytes(data, "little", signed=True)
            if not self.get("Min_Position_Limit") <= wanted <= self.get("Max_Position_Limit"):
                return LIMIT
        return 0

    def _obey(self, written: Collection[str]) -> None:
        if "Operating_Mode" in written:
            self._open_limits()
        self.keep()

    def _wake_up(self) -> None:
        self.set("Status_Return_Level", 2)
        self.set("Position_P_Gain", 800)
        self._open_limits()

    def _open_limits(self) -> None:
        """A new mode may use all of the current and the voltage that the motor may have."""
        self.set("Goal_PWM", self.get("PWM_Limit"))
        self.set("Goal_Current", self.get("Current_Limit"))
