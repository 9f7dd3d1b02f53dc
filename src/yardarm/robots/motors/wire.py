"""What the buses of all motors share: requests, answers, and how answers are found in a stream of bytes."""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

__all__ = ["BROADCAST", "Fits", "Instruction", "Status", "WireProtocol"]

BROADCAST = 0xFE


class Instruction(enum.IntEnum):
    """What both vendors call by the same number."""

    PING = 0x01
    READ = 0x02
    WRITE = 0x03
    SYNC_READ = 0x82
    SYNC_WRITE = 0x83


Fits = Callable[[int, int], bool]
"""Whether a packet may be wanted, by the id and the length in its head."""


@dataclass(frozen=True, slots=True)
class Status:
    """A motor's answer: what is wrong with it, and what was asked for."""

    id: int
    error: int
    params: bytes
    wire_size: int = field(default=0, compare=False)
    """Its bytes on the wire."""


class WireProtocol(Protocol):
    """Turns requests into bytes, and bytes into answers. It keeps nothing: two buses never disturb each other."""

    def ping(self, id: int) -> bytes:
        """Ask whether a motor is there; to all of them, `BROADCAST`."""

    def read(self, id: int, address: int, size: int) -> bytes:
        """Ask for a register."""

    def write(self, id: int, address: int, data: bytes) -> bytes:
        """Set a register."""

    def sync_read(self, ids: Sequence[int], address: int, size: int) -> bytes:
        """Ask several motors for the same register; they answer one after the other."""

    def sync_write(self, values: Mapping[int, bytes], address: int, size: int) -> bytes:
        """Set the same register of several motors; nobody answers."""

    def acknowledgement(self, id: int) -> bytes:
        """How a motor's answer to a write begins, whatever it complains about."""

    def alerts(self, error: int) -> tuple[str, ...]:
        """What a motor complains about, while it does what it is asked."""

    def refusal(self, error: int) -> str | None:
        """Why a motor did not do what it was asked; None: it did."""

    def misheard(self, error: int) -> bool:
        """Whether a motor says that the request arrived damaged, and must be sent again."""

    def answer_size(self, params: int) -> int:
        """The bytes of an answer with so many parameters, without stuffing."""

    def answers(self, status: Status, params: int) -> bool:
        """Whether this answers a question for so many bytes."""

    def take(self, received: bytes, known: Mapping[int, Collection[int]]) -> tuple[Status | None, int]:
        """The first answer in the bytes, and how many bytes are done with.

        `known` has the sizes of the answers that may come from each id. Whatever is none of these is passed over:
        noise, damaged packets, and answers to other questions. What may be the beginning of an answer stays.
        """
