"""Feetech's bus: STS and SMS motors (protocol 0), and SCS motors (protocol 1).

request   FF FF id length instruction params… checksum
answer    FF FF id length error       params… checksum
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from yardarm.robots.motors.wire import BROADCAST, Fits, Instruction, Status

__all__ = ["FeetechProtocol", "find_packet", "packet"]

HEADER = b"\xff\xff"
# Header, id, length, error, checksum.
FRAME = 6
ALERTS = {0x01: "voltage", 0x02: "angle sensor", 0x04: "overheating", 0x08: "over-current", 0x20: "overload"}


def checksum(content: bytes) -> int:
    """Of everything between the header and the checksum itself.

    It shows every change of one byte; of larger damage, 1 in 256 passes.
    """
    return ~sum(content) & 0xFF


class FeetechProtocol:
    """The packets of Feetech's motors."""

    def ping(self, id: int) -> bytes:
        """Ask whether a motor is there."""
        return packet(id, Instruction.PING)

    def read(self, id: int, address: int, size: int) -> bytes:
        """Ask for a register."""
        return packet(id, Instruction.READ, bytes((address, size)))

    def write(self, id: int, address: int, data: bytes) -> bytes:
        """Set a register."""
        return packet(id, Instruction.WRITE, bytes((address,)) + data)

    def sync_read(self, ids: Sequence[int], address: int, size: int) -> bytes:
        """Ask several motors for the same register."""
        return packet(BROADCAST, Instruction.SYNC_READ, bytes((address, size, *ids)))

    def sync_write(self, values: Mapping[int, bytes], address: int, size: int) -> bytes:
        """Set the same register of several motors."""
        each = b"".join([bytes((id,)) + data for id, data in values.items()])
        return packet(BROADCAST, Instruction.SYNC_WRITE, bytes((address, size)) + each)

    def acknowledgement(self, id: int) -> bytes:
        """Header, id and length of an answer to a write."""
        return packet(id, 0)[:4]

    def alerts(self, error: int) -> tuple[str, ...]:
        """What a motor complains about."""
        return tuple(name for bit, name in ALERTS.items() if error & bit)

    def refusal(self, error: int) -> str | None:
        """These motors complain, and do what they are asked."""
        return None

    def misheard(self, error: int) -> bool:
        """These motors do not answer what arrived damaged."""
        return False

    def answer_size(self, params: int) -> int:
        """The bytes of an answer with so many parameters."""
        return FRAME + params

    def answers(self, status: Status, params: int) -> bool:
        """Whether this answers a question for so many bytes."""
        return len(status.params) == params

    def take(self, received: bytes, known: Mapping[int, Collection[int]]) -> tuple[Status | None, int]:
        """The first answer in the bytes, and how many bytes are done with."""
        start, end = find_packet(received, lambda id, length: length - 2 in known.get(id, ()))
        if not end:
            return None, start
        return Status(received[start + 2], received[start + 4], received[start + 5 : end - 1], end - start), end


def find_packet(received: bytes, fits: Fits) -> tuple[int, int]:
    """Where the first whole packet that fits begins and ends; if there is none, where one may begin, and 0."""
    start = received.find(HEADER)
    while start >= 0:
        if len(received) < start + 4:
            return start, 0
        length = received[start + 3]
        if length >= 2 and fits(received[start + 2], length):
            end = start + 4 + length
            if end > len(received):
                return start, 0
            if checksum(received[start + 2 : end - 1]) == received[end - 1]:
                return start, end
        start = received.find(HEADER, start + 1)
    # The first byte of a header may have come alone.
    return len(received) - received.endswith(HEADER[:1]), 0


def packet(id: int, instruction: int, params: bytes = b"") -> bytes:
    """A request; with an error in the place of the instruction, an answer."""
    content = bytes((id, len(params) + 2, instruction)) + params
    return HEADER + content + bytes((checksum(content),))
