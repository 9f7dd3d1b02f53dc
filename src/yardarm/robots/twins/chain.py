"""Motors on one cable: bytes in, bytes out, as the real ones answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from yardarm.robots.motors import dynamixel, feetech
from yardarm.robots.motors.wire import BROADCAST, Instruction
from yardarm.robots.twins.servo import Servo

__all__ = ["DynamixelSide", "FeetechSide", "MotorChain"]

# Only Dynamixels know it.
REBOOT = 0x08


@dataclass(frozen=True, slots=True)
class MotorRequest:
    """What a computer asks of one motor, or of all."""

    id: int
    instruction: int
    params: bytes


def _any(id: int, length: int) -> bool:
    """Motors take whatever is a packet."""
    return True


class MotorSide(Protocol):
    """A protocol as motors see it."""

    address_size: int

    def take(self, received: bytes) -> tuple[MotorRequest | None, int]:
        """The first whole request in the bytes, and how many bytes are done with."""

    def answer(self, id: int, error: int, params: bytes) -> bytes:
        """A motor's answer."""

    def pong(self, servo: Servo) -> bytes:
        """What a motor says of itself when it is pinged."""


class FeetechSide:
    """Feetech's protocol."""

    address_size = 1

    def take(self, received: bytes) -> tuple[MotorRequest | None, int]:
        """The first whole request in the bytes."""
        start, end = feetech.find_packet(received, _any)
        if not end:
            return None, start
        return MotorRequest(received[start + 2], received[start + 4], received[start + 5 : end - 1]), end

    def answer(self, id: int, error: int, params: bytes) -> bytes:
        """A motor's answer."""
        return feetech.packet(id, error, params)

    def pong(self, servo: Servo) -> bytes:
        """Nothing but that it is there."""
        return b""


class DynamixelSide:
    """Dynamixel's protocol."""

    address_size = 2

    def take(self, received: bytes) -> tuple[MotorRequest | None, int]:
        """The first whole request in the bytes."""
        start, end = dynamixel.find_packet(received, _any)
        if not end:
            return None, start
        content = dynamixel.content_of(received[start:end])
        return MotorRequest(received[start + 4], content[0], content[1:]), end

    def answer(self, id: int, error: int, params: bytes) -> bytes:
        """A motor's answer."""
        return dynamixel.packet(id, dynamixel.STATUS, bytes((error,)) + params)

    def pong(self, servo: Servo) -> bytes:
        """Its model and its firmware."""
        return servo.read(0, 2) + servo.read(6, 1)


def _rebooted(servo: Servo) -> tuple[int, bytes]:
    servo.power_cycle()
    return 0, b""


class MotorChain:
    """Takes what is sent, and gives what is answered."""

    def __init__(self, servos: Iterable[Servo], side: MotorSide) -> None:
        self.servos = list(servos)
        self.before_request: Callable[[], None] = lambda: None
        """What happens to the motors just before they hear a request."""
        self.before_call: Callable[[int], None] = lambda id: None
        """What happens to the cable just before a motor, or everybody, is called."""
        self._side = side
        self._received = b""
        self.requests = 0
        """How many it has understood."""

    def take(self, content: bytes) -> Iterator[bytes]:
        """The answers to what has come, one motor's after the other."""
        self._received += content
        while True:
            request, done = self._side.take(self._received)
            self._received = self._received[done:]
            if request is None:
                return
            self.requests += 1
            self.before_request()
            self.before_call(request.id)
            yield from self._answers(request)

    def _answers(self, request: MotorRequest) -> Iterator[bytes]:
        match request.instruction:
            case Instruction.PING:
                yield from self._each(request.id, lambda servo: (servo.error, self._side.pong(servo)))
            case Instruction.READ:
                address, size = self._numbers(request.params)
                yield from self._each(request.id, lambda servo: (servo.error, servo.read(address, size)))
            case Instruction.WRITE:
                address, data = self._number(request.params), request.params[self._side.address_size :]
                # It answers under the id that it was called by, even if it has another one now.
                yield from self._each(request.id, lambda servo: (servo.write(address, data), b""))
            case Instruction.SYNC_READ:
                address, size = self._numbers(request.params)
                for id in request.params[2 * self._side.address_size :]:
                    yield from self._each(id, lambda servo: (servo.error, servo.read(address, size)))
            case _ if request.instruction == REBOOT and self._side.address_size == 2:
                yield from self._each(request.id, _rebooted)
            case Instruction.SYNC_WRITE:
                self._write_all(request.params)

    def _each(self, id: int, ask: Callable[[Servo], tuple[int, bytes]]) -> Iterator[bytes]:
        for servo in [own for own in self.servos if own.powered and id in (own.id, BROADCAST)]:
            called = servo.id
            error, params = ask(servo)
            yield self._side.answer(called, error, params)

    def _write_all(self, params: bytes) -> None:
        address, size = self._numbers(params)
        rest = params[2 * self._side.address_size :]
        for start in range(0, len(rest) - size, size + 1):
            for servo in self.servos:
                if servo.powered and servo.id == rest[start]:
                    servo.write(address, rest[start + 1 : start + 1 + size])

    def _number(self, params: bytes) -> int:
        return int.from_bytes(params[: self._side.address_size], "little")

    def _numbers(self, params: bytes) -> tuple[int, int]:
        size = self._side.address_size
        return self._number(params), int.from_bytes(params[size : 2 * size], "little")
