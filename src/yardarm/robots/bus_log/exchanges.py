"""What was asked and answered, as packets: requests with their answers, and what was no answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from yardarm.robots.bus_log.reading import Bytes
from yardarm.robots.motors import DynamixelBus, MotorBus, dynamixel, feetech
from yardarm.robots.motors.wire import BROADCAST, Fits, Instruction

__all__ = ["Answer", "Exchange", "Packet", "exchanges", "no_answer"]


@dataclass(frozen=True, slots=True)
class Packet:
    """What is inside the frame of a packet."""

    id: int
    code: int
    """The instruction of a request; Feetech's answers have their error here."""
    params: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """A motor's answer."""

    id: int
    error: int
    params: bytes


@dataclass(slots=True)
class Exchange:
    """A request and what came until the next one; without a request, what came before any."""

    t: float
    request: Packet | None
    expected: dict[int, int] = field(default_factory=dict)
    """Who has to answer, with how many bytes."""
    answers: list[Answer] = field(default_factory=list)
    late: list[Answer] = field(default_factory=list)
    """Whole answers that are none to this request."""
    dropped: bytes = b""
    """Bytes that are no answer at all."""
    took_s: float = 0.0
    """From the request to the last answer."""

    @property
    def missing(self) -> list[int]:
        """Who has not answered."""
        found = {answer.id for answer in self.answers}
        return [id for id in self.expected if id not in found]

    @property
    def is_whole(self) -> bool:
        """Whether everybody has answered, and nobody else."""
        return not (self.missing or self.late or self.dropped)


def no_answer(size: int) -> str:
    """So many bytes, in words."""
    return "1 byte was no answer" if size == 1 else f"{size} bytes were no answer"


def exchanges(pieces: Iterable[Bytes], bus: MotorBus) -> Iterator[Exchange]:
    """The exchanges in what went over a cable."""
    reader = _Reader(bus)
    own: list[Bytes] = []
    for piece in pieces:
        if piece.sent and own:
            yield reader.exchange(own)
            own = []
        own.append(piece)
    if own:
        yield reader.exchange(own)


class _Reader:
    """Knows the frames of a bus's packets."""

    def __init__(self, bus: MotorBus) -> None:
        self._bus = bus
        self._has_status = isinstance(bus, DynamixelBus)
        self._address_size = 2 if self._has_status else 1

    def exchange(self, pieces: list[Bytes]) -> Exchange:
        """One request, perhaps, and all that came after it."""
        first, rest = pieces[0], pieces[1:]
        if not first.sent:
            found = Exchange(first.t, None)
            rest = pieces
        else:
            request, _, _ = self._packet(first.content, lambda id, length: True)
            found = Exchange(first.t, request, self._expected(request) if request else {})
        received = b""
        for piece in rest:
            received = self._take(found, received + piece.content, piece.t - first.t)
        while received:  # what looked like the beginning of an answer was none; but one may be behind it
            found.dropped += received[:1]
            received = self._take(found, received[1:], rest[-1].t - first.t)
        return found

    def _take(self, found: Exchange, received: bytes, after_s: float) -> bytes:
        """Take all whole answers; returns the rest."""
        while True:
            packet, start, end = self._packet(received, lambda id, length: id < BROADCAST)
            found.dropped += received[:start]
            if packet is None:
                return received[start:]
            received = received[end:]
            answer = self._answer(packet)
            if self._is_expected(found, answer):
                found.answers.append(answer)
                found.took_s = after_s
            else:
                found.late.append(answer)

    def _packet(self, received: bytes, fits: Fits) -> tuple[Packet | None, int, int]:
        """The first whole packet, and where it begins and ends; if there is none, where one may begin."""
        if self._has_status:
            start, end = dynamixel.find_packet(received, fits)
            content = dynamixel.content_of(received[start:end])
            return (Packet(received[start + 4], content[0], content[1:]) if end else None), start, end
        start, end = feetech.find_packet(received, fits)
        return (
            (Packet(received[start + 2], received[start + 4], received[start + 5 : end - 1]) if end else None),
            start,
            end,
        )

    def _answer(self, packet: Packet) -> Answer:
        if self._has_status:
            return Answer(packet.id, packet.params[0] if packet.params else 0, packet.params[1:])
        return Answer(packet.id, packet.code, packet.params)

    def _is_expected(self, found: Exchange, answer: Answer) -> bool:
        if found.request is not None and (found.request.id, found.request.code) == (BROADCAST, Instruction.PING):
            return True
        size = found.expected.get(answer.id)
        fits = size == len(answer.params) or (size is not None and bool(answer.error) and not answer.params)
        return fits and all(answer.id != own.id for own in found.answers)

    def _expected(self, request: Packet) -> dict[int, int]:
        width = self._address_size
        match request.code:
            case Instruction.PING:
                return {} if request.id == BROADCAST else {request.id: self._bus.pong_size}
            case Instruction.READ:
                return {request.id: int.from_bytes(request.params[width : 2 * width], "little")}
            case Instruction.WRITE:
                return {request.id: 0}
            case Instruction.SYNC_READ:
                size = int.from_bytes(request.params[width : 2 * width], "little")
                return dict.fromkeys(request.params[2 * width :], size)
        return {}
