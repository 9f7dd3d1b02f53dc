"""Dynamixel's bus, protocol 2.0.

    request   FF FF FD 00 id length(2) instruction params… crc(2)
    answer    FF FF FD 00 id length(2) 55 error    params… crc(2)

Wherever ``FF FF FD`` occurs after the length, another ``FD`` is inserted, so that it is never taken for a header.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from yardarm.robots.motors.wire import BROADCAST, Fits, Instruction, Status

__all__ = ["HEADER", "STATUS", "DynamixelProtocol", "content_of", "find_packet", "packet"]

HEADER = b"\xff\xff\xfd\x00"
STUFFED, PLAIN = b"\xff\xff\xfd\xfd", b"\xff\xff\xfd"
# The instruction of every answer.
STATUS = 0x55
# Header, id, length, instruction, error, checksum.
FRAME = 11
MISHEARD = 3
REFUSALS = {
    1: "it failed",
    2: "it does not know the instruction",
    MISHEARD: "the request arrived damaged",
    4: "the value is out of range",
    5: "the value has the wrong length",
    6: "the value is beyond the motor's limit",
    7: "the register cannot be accessed now; it may need torque off",
}
ALERT = 0x80


def _crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        value = byte << 8
        for _ in range(8):
            value = (value << 1 ^ 0x8005 if value & 0x8000 else value << 1) & 0xFFFF
        table.append(value)
    return tuple(table)


CRC_TABLE = _crc_table()


def crc16(content: bytes) -> int:
    """CRC-16 with polynomial 8005 and nothing reflected."""
    value = 0
    for byte in content:
        value = (value & 0xFF) << 8 ^ CRC_TABLE[value >> 8 ^ byte]
    return value


class DynamixelProtocol:
    """The packets of Dynamixel's motors."""

    def ping(self, id: int) -> bytes:
        """Ask whether a motor is there."""
        return packet(id, Instruction.PING)

    def read(self, id: int, address: int, size: int) -> bytes:
        """Ask for a register."""
        return packet(id, Instruction.READ, _words(address, size))

    def write(self, id: int, address: int, data: bytes) -> bytes:
        """Set a register."""
        return packet(id, Instruction.WRITE, _words(address) + data)

    def sync_read(self, ids: Sequence[int], address: int, size: int) -> bytes:
        """Ask several motors for the same register."""
        return packet(BROADCAST, Instruction.SYNC_READ, _words(address, size) + bytes(ids))

    def sync_write(self, values: Mapping[int, bytes], address: int, size: int) -> bytes:
        """Set the same register of several motors."""
        each = b"".join([bytes((id,)) + data for id, data in values.items()])
        return packet(BROADCAST, Instruction.SYNC_WRITE, _words(address, size) + each)

    def acknowledgement(self, id: int) -> bytes:
        """Header, id, length and kind of an answer to a write."""
        return packet(id, STATUS, bytes(1))[:8]

    def alerts(self, error: int) -> tuple[str, ...]:
        """What a motor complains about; its register Hardware_Error_Status says more."""
        return ("hardware alert",) if error & ALERT else ()

    def refusal(self, error: int) -> str | None:
        """Why a motor did not do what it was asked."""
        number = error & ~ALERT
        return REFUSALS.get(number, f"error {number}") if number else None

    def misheard(self, error: int) -> bool:
        """Whether the request arrived damaged."""
        return error & ~ALERT == MISHEARD

    def answer_size(self, params: int) -> int:
        """The bytes of an answer with so many parameters, without stuffing."""
        return FRAME + params

    def answers(self, status: Status, params: int) -> bool:
        """Whether this answers a question for so many bytes; a refusal has none of them."""
        return len(status.params) == params or self._is_refusal(status)

    def take(self, received: bytes, known: Mapping[int, Collection[int]]) -> tuple[Status | None, int]:
        """The first answer in the bytes, and how many bytes are done with."""
        begins = 0
        while True:
            start, end = find_packet(
                received[begins:], lambda id, length: id in known and length <= _longest(max(known[id]))
            )
            if not end:
                return None, begins + start
            whole, begins = received[begins + start : begins + end], begins + end
            content = content_of(whole)
            if content[0] == STATUS and len(content) > 1:
                status = Status(whole[4], content[1], content[2:], len(whole))
                if len(status.params) in known[status.id] or self._is_refusal(status):
                    return status, begins

    def _is_refusal(self, status: Status) -> bool:
        return not status.params and self.refusal(status.error) is not None


def find_packet(received: bytes, fits: Fits) -> tuple[int, int]:
    """Where the first whole packet that fits begins and ends; if there is none, where one may begin, and 0."""
    start = received.find(HEADER)
    while start >= 0:
        if len(received) < start + 7:
            return start, 0
        length = received[start + 5] + 256 * received[start + 6]
        if length >= 3 and fits(received[start + 4], length):
            end = start + 7 + length
            if end > len(received):
                return start, 0
            if crc16(received[start : end - 2]) == received[end - 2] + 256 * received[end - 1]:
                return start, end
        start = received.find(HEADER, start + 1)
    # The first bytes of a header may have come alone.
    kept = next((size for size in (3, 2, 1) if received.endswith(HEADER[:size])), 0)
    return len(received) - kept, 0


def content_of(whole: bytes) -> bytes:
    """The instruction and the parameters of a packet, as they were before they were stuffed."""
    return whole[7:-2].replace(STUFFED, PLAIN)


def _longest(params: int) -> int:
    """The length of an answer in which everything is stuffed that can be."""
    return params + 4 + (params + 2) // 3


def packet(id: int, instruction: int, params: bytes = b"") -> bytes:
    """A request; with the instruction `STATUS`, an answer."""
    content = (bytes((instruction,)) + params).replace(PLAIN, STUFFED)
    whole = HEADER + bytes((id,)) + _words(len(content) + 2) + content
    return whole + _words(crc16(whole))


def _words(*values: int) -> bytes:
    return b"".join(value.to_bytes(2, "little") for value in values)
