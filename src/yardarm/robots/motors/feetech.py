"""Feetech's bus: STS and SMS motors (protocol 0), and SCS motors (protocol 1).

request   FF FF id length instruction params… checksum
answer    FF FF id length error       params… checksum
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from yardarm.robots.motors.wire import BROADCAST, Instruction, Status

__all__ = ["HEADER", "FeetechProtocol", "checksum", "packet"]

HEADER = b"\xff\xff"
# Header, id, length, error, checksum.
FRAME = 6
ALERTS = {0x01: "voltage", 0x02: "angle sensor", 0x04: "overheating", 0x08: "over-current", 0x20: "overload"}


def checksum(content: bytes) -> int:
    """Of everything between the header and the checksum itself."""
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
        each = b"".join(bytes((id,)) + data for id, data in values.items())
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

    def answer_size(self, params: int) -> int:
        """The bytes of an answer with so many parameters."""
        return FRAME + params

    def take(self, received: bytes, expected: Mapping[int, int]) -> tuple[Status | None, int]:
        """The first expected answer in the bytes, and how many bytes are done with."""
        start = received.find(HEADER)
        while start >= 0:
            head = received[start : start + 4]
            if len(head) < 4:
                return None, start
            id, params = head[2], head[3] - 2
            if id in expected and params == expected[id]:
                end = start + self.answer_size(params)
                if end > len(received):
                    return None, start
                whole = received[start:end]
                if checksum(whole[2:-1]) == whole[-1]:
                    return Status(id, whole[4], whole[5:-1]), end
            start = received.find(HEADER, start + 1)
        # The first byte of a header may have come alone.
        return None, len(received) - received.endswith(HEADER[:1])


def packet(id: int, instruction: int, params: bytes = b"") -> bytes:
    """A request; with an error in the place of the instruction, an answer."""
    content = bytes((id, len(params) + 2, instruction)) + params
    return HEADER + content + bytes((checksum(content),))
