"""A bus of motors: registers by name, positions in the user's units, retries within a budget of time."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from yardarm.errors import AlreadyConnected, BusFault, NotConnected, UsageError, nearest
from yardarm.robots.motors.calibration import MotorCalibration
from yardarm.robots.motors.encoding import sign_magnitude, twos_complement, unsign_magnitude, untwos_complement
from yardarm.robots.motors.line import SerialLine
from yardarm.robots.motors.registers import MODELS, Register, model
from yardarm.robots.motors.units import Scale
from yardarm.robots.motors.wire import BROADCAST, Status, WireProtocol

__all__ = ["BusCounts", "Motor", "MotorBus"]

log = logging.getLogger(__name__)

# A lost packet must not fail anything, and writing the same value twice does no harm.
RETRIES = 10
# However often a request may be tried again, it ends after this.
RETRY_BUDGET_S = 0.3
BAUD_RATE = 1_000_000
# Positions are in the user's units; all other registers are numbers.
POSITIONS = ("Goal_Position", "Present_Position")
# How long everybody on a bus may take to answer a broadcast.
BROADCAST_S = 0.3


@dataclass(frozen=True, slots=True)
class Motor:
    """A motor of a robot: its id on the bus, its model, and the unit of its position."""

    id: int
    model: str
    unit: str


@dataclass(slots=True)
class BusCounts:
    """What went wrong on a bus, and was mended."""

    retries: int = 0
    alerts: dict[str, set[str]] = field(default_factory=dict)
    """What each motor has complained about."""


class MotorBus(ABC):
    """Motors on one port. What differs between vendors is in their subclasses."""

    protocol: ClassVar[WireProtocol]
    baud_codes: ClassVar[Mapping[int, int]]
    """The baud rates, and the codes that stand for them in the register Baud_Rate."""
    wraps: ClassVar[bool]
    """Whether readings start again after a turn."""
    applies_drive_mode: ClassVar[bool]
    """Whether the bus must reverse positions, because motors do not."""

    def __init__(
        self,
        port: str,
        motors: Mapping[str, Motor],
        calibration: Mapping[str, MotorCalibration] | None = None,
        on_bytes: Callable[[bool, bytes], None] | None = None,
    ) -> None:
        self.motors = dict(motors)
        self.calibration = dict(calibration or {})
        self.line = SerialLine(port, BAUD_RATE, self.protocol, on_bytes)
        self.retry_budget_s = RETRY_BUDGET_S
        self.counts = BusCounts()
        self._names = {motor.id: name for name, motor in self.motors.items()}
        # What is asked over and over again is looked up once.
        self._places: dict[tuple[str, ...], Register] = {}
        self._sync_reads: dict[tuple[str, tuple[str, ...]], tuple[bytes, dict[int, int]]] = {}

    @property
    def is_connected(self) -> bool:
        """Whether the port is open."""
        return self.line.is_open

    def connect(self, handshake: bool = True) -> None:
        """Open the port, and see that all motors are there."""
        if self.is_connected:
            raise AlreadyConnected(f"the bus on {self.line.port} is already connected")
        self.line.open()
        try:
            if handshake:
                self._handshake()
        except BaseException:
            self.line.close()
            raise

    def disconnect(self, disable_torque: bool = True) -> None:
        """Release the motors and close the port, whatever happens on the way."""
        self._check_connected()
        try:
            if disable_torque:
                self.disable_torque()
        finally:
            self.line.close()

    # Registers.

    def read(self, register: str, motor: str, *, normalize: bool = True, retries: int = RETRIES) -> float:
        """A register of one motor."""
        own, id = self._register(register, [motor]), self._motor(motor).id
        request = self.protocol.read(id, own.address, own.size)
        answers = self._ask(request, {id: own.size}, retries, f"reading {register}")
        return self._decoded(register, motor, answers[id].params, normalize)

    def write(self, register: str, motor: str, value: float, *, normalize: bool = True, retries: int = RETRIES) -> None:
        """Set a register of one motor."""
        own, id = self._register(register, [motor]), self._motor(motor).id
        request = self.protocol.write(id, own.address, self._encoded(register, motor, value, normalize))
        self._ask(request, {id: 0}, retries, f"writing {register}")

    def sync_read(
        self, register: str, motors: Iterable[str] | None = None, *, normalize: bool = True, retries: int = RETRIES
    ) -> dict[str, float]:
        """A register of several motors, or of all, in one request."""
        names = tuple(self.motors if motors is None else motors)
        if (register, names) not in self._sync_reads:
            own, ids = self._register(register, names), [self._motor(name).id for name in names]
            request = self.protocol.sync_read(ids, own.address, own.size)
            self._sync_reads[register, names] = request, dict.fromkeys(ids, own.size)
        request, expected = self._sync_reads[register, names]
        answers = self._ask(request, expected, retries, f"reading {register}")
        return {
            name: self._decoded(register, name, answers[id].params, normalize)
            for name, id in zip(names, expected, strict=True)
        }

    def sync_write(self, register: str, values: Mapping[str, float], *, normalize: bool = True) -> None:
        """Set a register of several motors in one request, which nobody answers."""
        self._check_connected()
        own = self._register(register, list(values))
        encoded = {
            self._motor(name).id: self._encoded(register, name, value, normalize) for name, value in values.items()
        }
        self.line.tell(self.protocol.sync_write(encoded, own.address, own.size))

    def write_all(self, register: str, value: int, motors: Iterable[str] | None = None) -> None:
        """Set a register of several motors to the same value, one after the other."""
        for name in self.motors if motors is None else motors:
            self.write(register, name, value, normalize=False)

    def ping(self, id: int, retries: int = 0) -> Status | None:
        """Whether a motor is there."""
        return self._try(self.protocol.ping(id), {id: self.pong_size}, retries)[0].get(id)

    def broadcast_ping(self) -> list[int]:
        """The ids of all motors on the bus."""
        self._check_connected()
        candidates = dict.fromkeys(range(BROADCAST - 1), self.pong_size)
        return sorted(self.line.listen(self.protocol.ping(BROADCAST), candidates, BROADCAST_S))

    # Torque.

    @abstractmethod
    def enable_torque(self, motors: Iterable[str] | None = None, retries: int = RETRIES) -> None:
        """Have motors hold their position."""

    @abstractmethod
    def disable_torque(self, motors: Iterable[str] | None = None, retries: int = RETRIES) -> None:
        """Let motors be moved by hand."""

    @contextmanager
    def torque_disabled(self) -> Iterator[None]:
        """Without torque inside of the block, with torque after it, even if it fails."""
        self.disable_torque()
        try:
            yield
        finally:
            self.enable_torque()

    @abstractmethod
    def configure_motors(self) -> None:
        """What every motor of this kind needs, whatever robot it belongs to."""

    # Calibration.

    @property
    @abstractmethod
    def is_calibrated(self) -> bool:
        """Whether the motors have the calibration of the file."""

    @abstractmethod
    def read_calibration(self) -> dict[str, MotorCalibration]:
        """The calibration that the motors have."""

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

    # What vendors do in their own ways.

    pong_size: ClassVar[int] = 0
    """The bytes of an answer to a ping."""

    @abstractmethod
    def _model_number(self, id: int, pong: Status) -> int:
        """The model of a motor that has answered a ping."""

    def _handshake(self) -> None:
        """See that every motor is there, and is of the expected model; name all that are not."""
        problems = []
        for name, motor in self.motors.items():
            pong = self.ping(motor.id, RETRIES)
            if pong is None:
                problems.append(f"{name} (id {motor.id}) does not answer")
            elif (number := self._model_number(motor.id, pong)) != MODELS[motor.model].number:
                problems.append(f"{name} (id {motor.id}) is a {model(number)}, not a {motor.model}")
        if problems:
            raise BusFault(
                f"{'; '.join(problems)}; on {self.line.port} check power, cables, and ids (`yardarm robot info`)"
            )

    # Packets.

    def _ask(self, request: bytes, expected: Mapping[int, int], retries: int, doing: str) -> dict[int, Status]:
        """Ask until everybody has answered, as often and as long as allowed."""
        answers, tries = self._try(request, expected, retries)
        if len(answers) < len(expected):
            missing = ", ".join(self._called(id) for id in expected if id in self.line.owing)
            often = f" after {tries} tries" if tries > 1 else ""
            raise BusFault(f"{doing}: no answer from {missing} on {self.line.port}{often}; check power and cables")
        self._check(answers, doing)
        return answers

    def _try(self, request: bytes, expected: Mapping[int, int], retries: int) -> tuple[dict[int, Status], int]:
        """The answers of the last try, and how many there were."""
        self._check_connected()
        ends = time.monotonic() + self.retry_budget_s
        for tries in range(1, retries + 2):
            answers = self.line.ask(request, expected)
            if len(answers) == len(expected) or time.monotonic() > ends:
                break
            self.counts.retries += tries <= retries
        return answers, tries

    def _check(self, answers: Mapping[int, Status], doing: str) -> None:
        """Note what motors complain about; raise if one has refused."""
        for id, status in answers.items():
            if not status.error:
                continue
            name = self._called(id)
            if refusal := self.protocol.refusal(status.error):
                raise BusFault(f"{doing}: {name} refused: {refusal}")
            known = self.counts.alerts.setdefault(name, set())
            for alert in self.protocol.alerts(status.error):
                if alert not in known:
                    known.add(alert)
                    log.warning("%s reports %s", name, alert)

    def _called(self, id: int) -> str:
        return f"{self._names[id]} (id {id})" if id in self._names else f"id {id}"

    # Values.

    def _motor(self, name: str) -> Motor:
        if name not in self.motors:
            raise UsageError(f"there is no motor '{name}'{nearest(name, self.motors)} it has {', '.join(self.motors)}")
        return self.motors[name]

    def _register(self, register: str, names: Sequence[str]) -> Register:
        """Where the motors keep a value; it must be the same place in all of them."""
        asked = (register, *names)
        if asked not in self._places:
            self._places[asked] = self._found_register(register, names)
        return self._places[asked]

    def _found_register(self, register: str, names: Sequence[str]) -> Register:
        places = set()
        for name in names:
            known = MODELS[self._motor(name).model].registers
            if register not in known:
                raise UsageError(f"{self._motor(name).model} has no register '{register}'{nearest(register, known)}")
            places.add(known[register])
        if len(places) != 1:
            raise UsageError(f"'{register}' is not in the same place in {', '.join(names)}; ask one by one")
        return places.pop()

    def _encoded(self, register: str, name: str, value: float, normalize: bool) -> bytes:
        own = self._register(register, [name])
        raw = self.scale(name).raw(value) if normalize and register in POSITIONS else int(value)
        try:
            if own.sign_bit is not None:
                raw = sign_magnitude(raw, own.sign_bit)
            elif own.signed:
                raw = twos_complement(raw, own.size)
            return raw.to_bytes(own.size, self._byte_order(name))
        except (ValueError, OverflowError) as error:
            raise UsageError(f"{register} of {name}: {error}") from None

    def _decoded(self, register: str, name: str, params: bytes, normalize: bool) -> float:
        own = self._register(register, [name])
        raw = int.from_bytes(params, self._byte_order(name))
        if own.sign_bit is not None:
            raw = unsign_magnitude(raw, own.sign_bit)
        elif own.signed:
            raw = untwos_complement(raw, own.size)
        return self.scale(name).value(raw) if normalize and register in POSITIONS else raw

    def _byte_order(self, name: str) -> Literal["little", "big"]:
        return "little"

    def scale(self, name: str) -> Scale:
        """Between a motor's steps and its user's unit."""
        motor, own = self._motor(name), self.calibration.get(name)
        if own is None:
            raise NotConnected(f"'{name}' is not calibrated; run `yardarm calibrate`")
        reverses = self.applies_drive_mode and bool(own.drive_mode)
        return Scale(motor.unit, MODELS[motor.model].resolution, own, reverses)

    def _check_connected(self) -> None:
        if not self.is_connected:
            raise NotConnected(f"the bus on {self.line.port} is not connected; call connect() first")
