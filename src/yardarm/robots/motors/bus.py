"""A bus of motors: whether all are there, their torque, their health, and their calibration."""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar

from yardarm.errors import BusFault, UsageError
from yardarm.robots.motors.calibration import MotorCalibration
from yardarm.robots.motors.health import HealthRegisters, MotorHealth
from yardarm.robots.motors.noting import noted
from yardarm.robots.motors.register_bus import RETRIES, Motor, MotorNames, RegisterBus
from yardarm.robots.motors.registers import MODELS, model
from yardarm.robots.motors.wire import Status

__all__ = ["MotorBus"]


class MotorBus(RegisterBus):
    """Motors on one port. What differs between vendors is in their subclasses."""

    wraps: ClassVar[bool]
    """Whether readings start again after a turn."""
    refuses_with_torque: ClassVar[bool]
    """Whether motors refuse a calibration while they have torque."""
    health_registers: ClassVar[HealthRegisters]
    """Where motors say how they are."""
    torque_registers: ClassVar[tuple[str, ...]]
    """What is 1 while a motor holds its position, and 0 while it can be moved by hand."""

    def __init__(
        self,
        port: str,
        motors: Mapping[str, Motor],
        calibration: Mapping[str, MotorCalibration] | None = None,
        on_bytes: Callable[[bool, bytes], None] | None = None,
    ) -> None:
        super().__init__(port, motors, calibration, on_bytes)
        self.stored: dict[str, MotorCalibration] | None = None
        """The calibration that the motors had when they were last asked."""
        self._limits: dict[str, dict[str, float]] = {}

    def connect(self, handshake: bool = True) -> None:
        """Open the port, and see that all motors are there."""
        self._limits = {}
        super().connect(handshake)

    @abstractmethod
    def model_number(self, id: int, pong: Status) -> int:
        """The model of a motor that has answered a ping."""

    def _handshake(self) -> None:
        """See that every motor is there, and is of the expected model; name all that are not."""
        problems = []
        with self._one_budget():
            for name, motor in self.motors.items():
                pong = self.ping(motor.id, RETRIES)
                if pong is None:
                    problems.append(f"{name} (id {motor.id}) does not answer")
                elif (number := self.model_number(motor.id, pong)) != MODELS[motor.model].number:
                    problems.append(f"{name} (id {motor.id}) is a {model(number)}, not a {motor.model}")
        if problems:
            raise BusFault(
                f"{'; '.join(problems)}; on {self.line.port} check power, cables, and ids (`yardarm robot info`)"
            )

    @abstractmethod
    def configure_motors(self) -> None:
        """What every motor of this kind needs, whatever robot it belongs to."""

    @noted
    def health(self) -> dict[str, MotorHealth | None]:
        """How all motors are, by one request; the first one also asks what they may be. None: it does not answer.

        Who owes an answer is asked alone: one silent motor must not silence the others.
        """
        owing = [name for name, motor in self.motors.items() if motor.id in self.line.owing]
        found: dict[str, MotorHealth | None] = dict.fromkeys(self.motors)
        for names in ([name for name in self.motors if name not in owing], *([name] for name in owing)):
            if unknown := [name for name in names if name not in self._limits]:
                self._limits |= self._read_together(self.health_registers.limits, unknown)
            if known := [name for name in names if name in self._limits]:
                for name, now in self._read_together(self.health_registers.now, known).items():
                    found[name] = self.health_registers.health(self.motors[name].model, now, self._limits[name])
        return found

    # Torque.

    def enable_torque(self, motors: MotorNames = None, num_retry: int = RETRIES) -> None:
        """Have motors hold their position."""
        for name in self.names(motors):
            self._set_torque(name, 1, num_retry)

    def disable_torque(self, motors: MotorNames = None, num_retry: int = RETRIES) -> None:
        """Let motors be moved by hand: all that answer, also after one that does not."""
        faults = []
        for name in self.names(motors):
            try:
                self._set_torque(name, 0, num_retry)
            except BusFault as fault:
                faults.append(str(fault))
        if faults:
            raise BusFault("; ".join(dict.fromkeys(faults)))  # a port that is gone is gone for all of them

    def _set_torque(self, name: str, value: int, num_retry: int) -> None:
        for register in self.torque_registers:
            self.write(register, name, value, num_retry=num_retry)

    def _release(self) -> None:
        """Release the motors. Once one does not answer, all are told at once, before the rest is asked one by one."""
        faults: list[str] = []
        with self._one_budget():
            for name in self.motors:
                try:
                    self.disable_torque([name])
                except BusFault as fault:
                    if not faults:
                        with contextlib.suppress(BusFault):
                            self.sync_write("Torque_Enable", dict.fromkeys(self.motors, 0))
                    faults.append(str(fault))
        if faults:
            said = "; ".join(dict.fromkeys(faults))  # a port that is gone is gone for all of them
            raise BusFault(f"{said}; the arm may still hold: switch off its power before you touch it")

    @contextmanager
    def torque_disabled(self, motors: MotorNames = None) -> Iterator[None]:
        """Without torque inside of the block, and with torque after it, unless it failed: half a setup could jump."""
        self.disable_torque(motors)
        yield
        self.enable_torque(motors)

    # Calibration.

    @property
    def is_calibrated(self) -> bool:
        """Whether the motors have the calibration of the file."""
        self.stored = self.read_calibration()
        return self.agrees(self.stored)

    def agrees(self, stored: Mapping[str, MotorCalibration]) -> bool:
        """Whether what motors keep of a calibration is that of the file."""
        return stored.keys() == self.calibration.keys() and all(
            self.keeps(stored[name], own) for name, own in self.calibration.items()
        )

    @classmethod
    @abstractmethod
    def keeps(cls, stored: MotorCalibration, calibration: MotorCalibration) -> bool:
        """Whether what a motor keeps is a calibration's."""

    @abstractmethod
    def read_calibration(self) -> dict[str, MotorCalibration]:
        """The calibration that the motors have."""

    def check_calibration(self, name: str, calibration: MotorCalibration) -> None:
        """Raise if a motor cannot keep a calibration."""
        last = MODELS[self.motors[name].model].resolution - 1
        if self.wraps and not 0 <= calibration.range_min < calibration.range_max <= last:
            ends = f"{calibration.range_min} to {calibration.range_max}"
            raise UsageError(f"the range of {name}, {ends}, is not within 0 to {last}")
        self.encoded("Homing_Offset", name, calibration.homing_offset)
        self.encoded("Min_Position_Limit", name, calibration.range_min)
        self.encoded("Max_Position_Limit", name, calibration.range_max)

    def write_calibration(self, calibration: Mapping[str, MotorCalibration]) -> None:
        """Write a calibration into the motors, which must be without torque."""
        for name, own in calibration.items():
            self.write("Homing_Offset", name, own.homing_offset, normalize=False)
            self.write("Min_Position_Limit", name, own.range_min, normalize=False)
            self.write("Max_Position_Limit", name, own.range_max, normalize=False)
        self.calibration = dict(calibration)

    def reset_calibration(self) -> None:
        """Let motors show their bare positions, over all of a turn."""
        for name, motor in self.motors.items():
            self.write("Homing_Offset", name, 0, normalize=False)
            self.write("Min_Position_Limit", name, 0, normalize=False)
            self.write("Max_Position_Limit", name, MODELS[motor.model].resolution - 1, normalize=False)

    def home(self) -> dict[str, int]:
        """Make where all joints are now their middle; returns the offsets."""
        bare = self.sync_read("Present_Position", normalize=False)
        offsets = {name: self.offset_to_middle(name, int(position)) for name, position in bare.items()}
        for name, offset in offsets.items():
            self.write("Homing_Offset", name, offset, normalize=False)
        return offsets

    @abstractmethod
    def offset_to_middle(self, name: str, position: int) -> int:
        """The offset that makes a bare position the middle."""

    @abstractmethod
    def moved_offset(self, offset: int, shift: int) -> int:
        """The offset that lowers all readings by `shift`."""
