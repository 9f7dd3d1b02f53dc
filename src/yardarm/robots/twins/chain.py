"""Motors on one cable: bytes in, bytes out, as the real ones answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from yardarm.robots.motors.dynamixel import HEADER as DYNAMIXEL_HEADER
from yardarm.robots.motors.dynamixel import PLAIN, STATUS, STUFFED, crc16
from yardarm.robots.motors.dynamixel import packet as dynamixel_packet
from yardarm.robots.motors.feetech import HEADER as FEETECH_HEADER
from yardarm.robots.motors.feetech import checksum
from yardarm.robots.motors.feetech import packet as feetech_packet
from yardarm.robots.motors.wire import BROADCAST, Instruction
from yardarm.robots.twins.servo import Servo

__all__ = ["DynamixelSide", "FeetechSide", "MotorChain"]

# Only Dynamixels know it.
REBOOT = 0x08


@dataclass(frozen=True, slots=True)
class Request:
    """What a computer asks of one motor, or of all."""

    id: int
    instruction: int
    params: bytes


class MotorSide(Protocol):
    """A protocol as motors see it."""

    address_size: int

    def take(self, received: bytes) -> tuple[Request | None, int]:
        """The first whole request in the bytes, and how many bytes are done with."""

    def answer(self, id: int, error: int, params: bytes) -> bytes:
        """A motor's answer."""

    def pong(self, servo: Servo) -> bytes:
        """What a motor says of itself when it is pinged."""


class FeetechSide:
    """Feetech's protocol."""

    address_size = 1

    def take(self, received: bytes) -> tuple[Request | None, int]:
        """The first whole request in the bytes."""
        start = received.find(FEETECH_HEADER)
        while start >= 0:
            head = received[start : start + 4]
            end = start + 4 + head[3] if len(head) == 4 else len(received) + 1
            if end > len(received):
                return None, start
            content = received[start + 2 : end]
            if len(content) >= 4 and checksum(content[:-1]) == content[-1]:
                return Request(content[0], content[2], content[3:-1]), end
            start = received.find(FEETECH_HEADER, start + 1)
        return None, len(received) - received.endswith(b"\xff")

    def answer(self, id: int, error: int, params: bytes) -> bytes:
        """A motor's answer."""
        return feetech_packet(id, error, params)

    def pong(self, servo: Servo) -> bytes:
        """Nothing but that it is there."""
        return b""


class DynamixelSide:
    """Dynamixel's protocol."""

    address_size = 2

    def take(self, received: bytes) -> tuple[Request | None, int]:
        """The first whole request in the bytes."""
        start = received.find(DYNAMIXEL_HEADER)
        while start >= 0:
            head = received[start : start + 7]
            end = start + 7 + int.from_bytes(head[5:], "little") if len(head) == 7 else len(received) + 1
            if end > len(received):
                return None, start
            whole = received[start:end]
            if len(whole) >= 10 and crc16(whole[:-2]) == int.from_bytes(whole[-2:], "little"):
                content = whole[7:-2].replace(STUFFED, PLAIN)
                return Request(whole[4], content[0], content[1:]), end
            start = received.find(DYNAMIXEL_HEADER, start + 1)
        kept = next((size for size in (3, 2, 1) if received.endswith(DYNAMIXEL_HEADER[:size])), 0)
        return None, len(received) - kept

    def answer(self, id: int, error: int, params: bytes) -> bytes:
        """A motor's answer."""
        return dynamixel_packet(id, STATUS, bytes((error,)) + params)

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
            yield from self._answers(request)

    def _answers(self, request: Request) -> Iterator[bytes]:
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
