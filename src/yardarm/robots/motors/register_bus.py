"""Registers of motors by name: positions in the user's units, retries within a budget of time."""

from __future__ import annotations

import contextlib
import logging
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from yardarm.errors import AlreadyConnected, BusFault, NotConnected, RobotFault, UsageError, nearest
from yardarm.robots.motors.calibration import MotorCalibration
from yardarm.robots.motors.encoding import sign_magnitude, twos_complement, unsign_magnitude
from yardarm.robots.motors.line import SETTLING_SIZES, LineCounts, SerialLine
from yardarm.robots.motors.noting import CallLog, noted
from yardarm.robots.motors.registers import MODELS, Register
from yardarm.robots.motors.units import Scale
from yardarm.robots.motors.wire import BROADCAST, Status, WireProtocol

__all__ = ["BAUD_RATE", "RETRIES", "BusCounts", "Motor", "MotorNames", "RegisterBus"]

log = logging.getLogger(__name__)

# A lost packet must not fail anything, and writing the same value twice does no harm.
RETRIES = 10
# However often a request may be tried again, it ends after this.
RETRY_BUDGET_S = 0.5
BAUD_RATE = 1_000_000
# Positions are in the user's units; all other registers are numbers.
POSITIONS = ("Goal_Position", "Present_Position")
# How long everybody on a bus may take to answer a broadcast.
BROADCAST_S = 0.3
# One motor, several, or None for all.
MotorNames = str | Iterable[str] | None


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

    def summary(self, line: LineCounts) -> str:
        """What happened here and on the line, in words; empty if there is nothing to say."""
        numbers = [
            (line.missing, "answer was missing", "answers were missing"),
            (line.late, "answer came late", "answers came late"),
            (self.retries, "request was repeated", "requests were repeated"),
            (line.dropped_bytes, "byte was no answer", "bytes were no answer"),
        ]
        said = [f"{number} {one if number == 1 else several}" for number, one, several in numbers if number]
        said += [f"{name} reported {', '.join(sorted(alerts))}" for name, alerts in self.alerts.items()]
        return "; ".join(said)


class RegisterBus(ABC):
    """Motors on one port, and what is in their registers."""

    protocol: ClassVar[WireProtocol]
    baud_codes: ClassVar[Mapping[int, int]]
    """The baud rates, and the codes that stand for them in the register Baud_Rate."""
    byte_order: ClassVar[Literal["little", "big"]] = "little"
    applies_drive_mode: ClassVar[bool]
    """Whether the bus must reverse positions, because motors do not."""
    pong_size: ClassVar[int] = 0
    """The bytes of an answer to a ping."""

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
        self._give_up_at = math.inf
        self.counts = BusCounts()
        self.log: CallLog | None = None
        self._names = {motor.id: name for name, motor in self.motors.items()}
        # What is asked over and over again is looked up once.
        self._places: dict[tuple[str, ...], Register] = {}
        self._sync_reads: dict[tuple[str, tuple[str, ...]], tuple[Register, bytes, dict[int, int]]] = {}

    @property
    def port(self) -> str:
        """The serial port."""
        return self.line.port

    @property
    def is_connected(self) -> bool:
        """Whether the port is open."""
        return self.line.is_open

    def connect(self, handshake: bool = True) -> None:
        """Open the port, and see that all motors are there."""
        if self.is_connected:
            raise AlreadyConnected(f"the bus on {self.line.port} is already connected")
        self.counts, self.line.counts = BusCounts(), LineCounts()
        if self.log is not None:
            self.log.begin(self)
        try:
            self._open(handshake)
        except BaseException:
            self._end_log()
            raise

    @noted
    def _open(self, handshake: bool) -> None:
        self.line.open()
        try:
            if handshake:
                self._handshake()
        except BaseException:
            self.line.close()
            raise

    def disconnect(self, disable_torque: bool = True) -> None:
        """Release the motors and close the port, whatever happens on the way; say what went wrong since `connect`."""
        self._check_connected()
        try:
            self._close(disable_torque)
        finally:
            self._end_log()

    @noted
    def _close(self, disable_torque: bool) -> None:
        try:
            if disable_torque:
                self._release()
        finally:
            self.line.close()
            if summary := self.counts.summary(self.line.counts):
                log.warning("on %s: %s", self.line.port, summary)

    @abstractmethod
    def _handshake(self) -> None:
        """See that the motors are there."""

    @abstractmethod
    def _release(self) -> None:
        """Let all motors be moved by hand."""

    def _end_log(self) -> None:
        if self.log is not None:
            self.log.end()

    # Registers.

    @noted
    def read(self, register: str, motor: str, *, normalize: bool = True, num_retry: int = RETRIES) -> float:
        """A register of one motor."""
        own, id = self._register(register, [motor]), self._motor(motor).id
        request = self.protocol.read(id, own.address, own.size)
        answers = self._ask(request, {id: own.size}, num_retry, f"reading {register}")
        return self._decoded(own, register, motor, answers[id].params, normalize)

    @noted
    def write(
        self, register: str, motor: str, value: float, *, normalize: bool = True, num_retry: int = RETRIES
    ) -> None:
        """Set a register of one motor."""
        own, id = self._register(register, [motor]), self._motor(motor).id
        request = self.protocol.write(id, own.address, self._encoded(own, register, motor, value, normalize))
        self._ask(request, {id: 0}, num_retry, f"writing {register}")

    @noted
    def sync_read(
        self, register: str, motors: MotorNames = None, *, normalize: bool = True, num_retry: int = RETRIES
    ) -> dict[str, float]:
        """A register of several motors, or of all, in one request."""
        names = self.names(motors)
        if (register, names) not in self._sync_reads:
            own, ids = self._register(register, names), [self._motor(name).id for name in names]
            request = self.protocol.sync_read(ids, own.address, own.size)
            self._sync_reads[register, names] = own, request, dict.fromkeys(ids, own.size)
        own, request, expected = self._sync_reads[register, names]
        answers = self._ask(request, expected, num_retry, f"reading {register}")
        return {
            name: self._decoded(own, register, name, answers[id].params, normalize)
            for name, id in zip(names, expected, strict=True)
        }

    @noted
    def sync_write(self, register: str, values: float | Mapping[str, float], *, normalize: bool = True) -> None:
        """Set a register of several motors, or of all to one value, in one request, which nobody answers."""
        self._check_connected()
        if not isinstance(values, Mapping):
            values = dict.fromkeys(self.motors, values)
        own = self._register(register, list(values))
        encoded = {
            self.motors[name].id: self._encoded(own, register, name, value, normalize) for name, value in values.items()
        }
        self.line.tell(self.protocol.sync_write(encoded, own.address, own.size))

    def write_all(self, register: str, value: int, motors: MotorNames = None) -> None:
        """Set a register of several motors to the same value, one after the other."""
        for name in self.names(motors):
            self.write(register, name, value, normalize=False)

    @noted
    def ping(self, id: int, num_retry: int = 0) -> Status | None:
        """Whether a motor is there."""
        return self._try(self.protocol.ping(id), {id: self.pong_size}, num_retry)[0].get(id)

    @noted
    def broadcast_ping(self, seconds: float = BROADCAST_S) -> dict[int, Status]:
        """The answers of all motors on the bus, by their ids."""
        self._check_connected()
        candidates = dict.fromkeys(range(BROADCAST - 1), self.pong_size)
        return dict(sorted(self.line.listen(self.protocol.ping(BROADCAST), candidates, seconds).items()))

    def _read_together(self, registers: Sequence[str], names: Sequence[str]) -> dict[str, dict[str, float]]:
        """Registers that lie near each other, in one request: by the motors that answer, then by name."""
        places = {register: self._register(register, names) for register in registers}
        start = min(own.address for own in places.values())
        size = max(own.address + own.size for own in places.values()) - start
        if size in SETTLING_SIZES:
            size = SETTLING_SIZES.stop  # no answer of ours may look like one that settles what a motor owes
        ids = [self.motors[name].id for name in names]
        answers, _ = self._try(self.protocol.sync_read(ids, start, size), dict.fromkeys(ids, size), 0)
        self._check(answers, f"reading {', '.join(registers)}")
        return {
            name: {
                register: self._decoded(
                    own, register, name, answers[id].params[own.address - start :][: own.size], False
                )
                for register, own in places.items()
            }
            for name, id in zip(names, ids, strict=True)
            if id in answers
        }

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
        ends = min(time.monotonic() + self.retry_budget_s, self._give_up_at)
        for tries in range(1, max(retries, 0) + 2):
            answers = self.line.ask(request, expected)
            misheard = [id for id, status in answers.items() if status.error and self.protocol.misheard(status.error)]
            if (len(answers) == len(expected) and not misheard) or time.monotonic() > ends:
                break
            self.counts.retries += tries <= retries
        return answers, tries

    @contextlib.contextmanager
    def _one_budget(self) -> Iterator[None]:
        """Requests inside of the block share the time of two: if nobody answers, that is known soon."""
        self._give_up_at = time.monotonic() + 2 * self.retry_budget_s
        try:
            yield
        finally:
            self._give_up_at = math.inf

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

    def names(self, motors: MotorNames) -> tuple[str, ...]:
        """The motors that are meant: one, several, or all."""
        if motors is None:
            return tuple(self.motors)
        return (motors,) if isinstance(motors, str) else tuple(motors)

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
        if not names:
            raise UsageError(f"no motor was named for '{register}'; it has {', '.join(self.motors)}")
        places = set()
        for name in names:
            known = MODELS[self._motor(name).model].registers
            if register not in known:
                raise UsageError(f"{self._motor(name).model} has no register '{register}'{nearest(register, known)}")
            places.add(known[register])
        if len(places) != 1:
            raise UsageError(f"'{register}' is not in the same place in {', '.join(names)}; ask one by one")
        return places.pop()

    def encoded(self, register: str, name: str, value: int) -> bytes:
        """The bytes of a number in a motor's register."""
        return self._encoded(self._register(register, [name]), register, name, value, normalize=False)

    def _encoded(self, own: Register, register: str, name: str, value: float, normalize: bool) -> bytes:
        scale = self.scale(name) if normalize and register in POSITIONS else None
        try:
            raw = scale.raw(value) if scale else int(value)
            if own.sign_bit is not None:
                raw = sign_magnitude(raw, own.sign_bit)
            elif own.signed:
                raw = twos_complement(raw, own.size)
            return raw.to_bytes(own.size, self.byte_order)
        except (ValueError, OverflowError) as error:
            raise UsageError(f"{register} of {name}: {error}") from None

    def decoded(self, register: str, name: str, params: bytes, normalize: bool) -> float:
        """What the bytes of a motor's register mean."""
        return self._decoded(self._register(register, [name]), register, name, params, normalize)

    def _decoded(self, own: Register, register: str, name: str, params: bytes, normalize: bool) -> float:
        raw = int.from_bytes(params, self.byte_order, signed=own.signed)
        if own.sign_bit is not None:
            raw = unsign_magnitude(raw, own.sign_bit)
        return self.scale(name).value(raw) if normalize and register in POSITIONS else raw

    def scale(self, name: str) -> Scale:
        """Between a motor's steps and its user's unit."""
        motor, own = self._motor(name), self.calibration.get(name)
        if own is None:
            raise RobotFault(f"'{name}' is not calibrated; run `yardarm calibrate`")
        reverses = self.applies_drive_mode and bool(own.drive_mode)
        return Scale(motor.unit, MODELS[motor.model].resolution, own, reverses)

    def _check_connected(self) -> None:
        if not self.is_connected:
            raise NotConnected(f"the bus on {self.line.port} is not connected; call connect() first")
