"""The serial line to the motors: one request at a time, and the answers to it and to no other.

drop what is left over ──▶ write ──▶ wait (asleep, in the kernel) ──▶ all answers ──▶ done
                                        │ time is up
                                        ▼
           who has not answered owes an answer, which may be lost, or only late

A motor that owes an answer is first asked for something of a size that no other answer has. A motor answers in turn,
and a cable does not reorder: once it has answered that, what it owed has come, or never will. Each time it is another
size, because that answer may be late itself.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import os
import select
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from yardarm.errors import BusFault, SetupError
from yardarm.robots.motors.permission import why_not_open
from yardarm.robots.motors.wire import Status, WireProtocol

__all__ = ["SETTLING_SIZES", "LineCounts", "SerialLine"]

# A packet has ten bits for each byte: eight of data, a start bit and a stop bit.
BITS = 10
# How long a motor and the adapter on the USB may take to begin an answer: FTDI's adapters collect for 16 ms, and a busy
# machine may be late itself. Answers usually begin within 1 ms.
PATIENCE_S = 0.050
# How long to ask a motor that owes an answer before it is given up.
LONGEST_LATENESS_S = 0.2
# Registers have 1, 2 or 4 bytes; an answer to a write has none, and one to a ping at most 3.
SETTLING_SIZES = range(5, 17)
# How long to wait for a port that another process has: longer than a watchdog needs to ask all motors of an arm once.
LOCK_S = 2.0
CHUNK = 4096


@dataclass(slots=True)
class LineCounts:
    """What happened on a line. Whatever disturbs an answer makes it missing, damaged, or both."""

    requests: int = 0
    timeouts: int = 0
    """Requests to which an answer was missing."""
    missing: int = 0
    """Answers that did not come in time, or not whole."""
    late: int = 0
    """Answers that came when nobody waited for them any more."""
    damaged: int = 0
    """Stretches of bytes that were no answer: damaged ones, and noise."""
    dropped_bytes: int = 0
    """All bytes that were no answer to the question: damaged and late answers, noise."""


class SerialLine:
    """A port that speaks a protocol. `on_bytes` hears everything that is sent (True) and received (False)."""

    def __init__(
        self, port: str, baud_rate: int, protocol: WireProtocol, on_bytes: Callable[[bool, bytes], None] | None = None
    ) -> None:
        self.port, self.baud_rate = port, baud_rate
        self.patience_s, self.lateness_s = PATIENCE_S, LONGEST_LATENESS_S
        self.counts = LineCounts()
        self.owing: dict[int, int] = {}
        """The ids of the motors that owe an answer, and the size of another answer that settles it."""
        self._protocol = protocol
        self._on_bytes = on_bytes
        self._serial: Any = None
        # The sizes of answers that may still come, long after they were asked for.
        self._late_sizes: dict[int, set[int]] = {}
        self._settling_sizes = itertools.cycle(SETTLING_SIZES)

    @property
    def is_open(self) -> bool:
        """Whether the port is open."""
        return self._serial is not None

    @property
    def is_inherited(self) -> bool:
        """Whether another process has opened the port, and this one is its child."""
        return self.is_open and self._opened_by != os.getpid()

    def open(self) -> None:
        """Open the port, for this process alone."""
        try:
            import serial
        except ModuleNotFoundError as error:
            raise SetupError(f"robots need pyserial; run: pip install 'yardarm[robots]' ({error})") from error
        try:
            self._serial = self._locked(serial.Serial)
        except (OSError, ValueError) as error:
            raise BusFault(f"cannot open the port {self.port}: {why_not_open(self.port, error)}") from None
        self._descriptor, self._opened_by = self._serial.fileno(), os.getpid()
        self.owing.clear()
        self._late_sizes.clear()

    def _locked(self, serial: Callable[..., Any]) -> Any:
        """The port, for this process alone. The watchdog of a killed program may have it for a moment."""
        ends = time.monotonic() + LOCK_S
        while True:
            try:
                return serial(self.port, self.baud_rate, timeout=0, exclusive=True)
            except OSError as error:
                if error.errno != errno.EWOULDBLOCK or time.monotonic() > ends:
                    raise
            time.sleep(0.02)

    def close(self) -> None:
        """Close the port."""
        if self._serial is not None:
            if not self.is_inherited:
                with contextlib.suppress(OSError):  # the port is gone
                    fcntl.flock(self._descriptor, fcntl.LOCK_UN)  # a child that has inherited it would keep the lock
            self._serial.close()
            self._serial = None

    def set_baud_rate(self, baud_rate: int) -> None:
        """Go on at another speed."""
        self.baud_rate = baud_rate
        if self._serial is not None:
            self._serial.baudrate = baud_rate

    def ask(self, request: bytes, expected: Mapping[int, int]) -> dict[int, Status]:
        """Send a request, and return the answers. `expected` has their sizes, by id, in the order of the answers.

        Who does not answer in time is missing from the result, and is among `owing`.
        """
        if self.owing and not self._settle(expected):
            return {}
        damaged = self.counts.damaged
        answers = self._exchange(request, expected)
        if self.counts.damaged > damaged and len(answers) == len(expected) and any(expected.values()):
            # Some bytes were no answer: others may have become part of one, and of its short checksum.
            answers = self._exchange(request, expected)
        return answers

    def tell(self, request: bytes) -> None:
        """Send a request that nobody answers."""
        self._write(request)
        self.counts.requests += 1

    def listen(self, request: bytes, candidates: Mapping[int, int], seconds: float) -> dict[int, Status]:
        """Send a request, and return whoever answers within a time, in any order."""
        self._drop_leftovers()
        self._write(request)
        self.counts.requests += 1
        return self._receive(candidates, time.monotonic() + seconds, in_turn=False)

    def _settle(self, ids: Iterable[int]) -> bool:
        """Whether everything has come that these motors owe, or is known to be lost."""
        ends = time.monotonic() + self.lateness_s
        for id in [id for id in ids if id in self.owing]:
            size = self.owing[id]
            while not self._exchange(self._protocol.read(id, 0, size), {id: size}, size):
                if time.monotonic() > ends:
                    return False
        return True

    def _exchange(
        self, request: bytes, expected: Mapping[int, int], settled_by: int | None = None
    ) -> dict[int, Status]:
        """Send a request, and wait for its answers. `settled_by` is the size that settles what does not come."""
        self._drop_leftovers()
        # Before they are here, anything may interrupt us.
        self.owing.update(dict.fromkeys(expected, settled_by or next(self._settling_sizes)))
        self._write(request)
        self.counts.requests += 1
        answers = len(expected) * self._protocol.answer_size(0) + sum(expected.values())
        on_the_way_s = (len(request) + answers) * BITS / self.baud_rate
        found = self._receive(expected, time.monotonic() + self.patience_s + on_the_way_s)
        for id in found:
            del self.owing[id]
        if len(found) < len(expected):
            missing = expected.keys() - found
            self.counts.timeouts += 1
            self.counts.missing += len(missing)
            for id in missing:
                self._late_sizes.setdefault(id, set()).add(expected[id])
        return found

    def _drop_leftovers(self) -> None:
        """Drop what has come since, and see what it was."""
        if content := self._read(0.0):
            intake = _Intake(self._protocol, self.counts, self._known({}))
            while content:
                for status in intake.take(content):
                    self._drop_late(status)
                content = self._read(0.0)
            intake.end()

    def _receive(self, expected: Mapping[int, int], until: float, in_turn: bool = True) -> dict[int, Status]:
        """Read until everybody has answered, or the time is up.

        Motors answer in the order in which they were asked: who has not come before the last one does not come.
        """
        found: dict[int, Status] = {}
        intake = _Intake(self._protocol, self.counts, self._known(expected))
        last = next(reversed(expected)) if in_turn else None
        while content := self._read(until):
            for status in intake.take(content):
                if status.id in expected and self._protocol.answers(status, expected[status.id]):
                    found.setdefault(status.id, status)
                else:
                    self._drop_late(status)
            if last in found or len(found) == len(expected):
                break
        intake.end()
        return found

    def _drop_late(self, status: Status) -> None:
        self.counts.late += 1
        self.counts.dropped_bytes += status.wire_size

    def _known(self, expected: Mapping[int, int]) -> dict[int, set[int]]:
        """The sizes of the answers that may come from each motor, now or late."""
        known = {id: {size} for id, size in expected.items()}
        for id, sizes in self._late_sizes.items():
            known[id] = known.get(id, set()) | sizes
        return known

    def _read(self, until: float) -> bytes:
        """Whatever comes first, asleep until then; nothing if the time is up."""
        self._check_open()
        wait_s = max(0.0, until - time.monotonic()) if until else 0.0
        try:
            # Not poll: on macOS, it does not know terminals.
            if not select.select([self._descriptor], [], [], wait_s)[0]:
                return b""
            content = os.read(self._descriptor, CHUNK)
        except OSError as error:
            raise self._lost(error) from None
        if not content:
            raise self._lost("it was closed")
        if self._on_bytes:
            self._on_bytes(False, content)
        return content

    def _write(self, content: bytes) -> None:
        self._check_open()
        if self._on_bytes:
            self._on_bytes(True, content)
        ends = time.monotonic() + self.patience_s
        try:
            while content := content[self._written(content) :]:
                if not select.select([], [self._descriptor], [], max(0.0, ends - time.monotonic()))[1]:
                    break
        except OSError as error:
            raise self._lost(error) from None
        if content:
            raise BusFault(
                f"the port {self.port} does not take what is sent; unplug its USB cable and plug it in again"
            )

    def _written(self, content: bytes) -> int:
        """How much of it the port takes at once."""
        try:
            return os.write(self._descriptor, content)
        except BlockingIOError:
            return 0

    def _check_open(self) -> None:
        if self._serial is None:
            raise BusFault(f"the port {self.port} is not open; connect first")

    def _lost(self, reason: object) -> BusFault:
        return BusFault(f"the port {self.port} is gone ({reason}); check the USB cable, then connect again")


class _Intake:
    """Finds answers in what comes, and counts what is none. `known` has the sizes of answers that may come, by id."""

    def __init__(self, protocol: WireProtocol, counts: LineCounts, known: Mapping[int, set[int]]) -> None:
        self._protocol, self._counts, self._known = protocol, counts, known
        self._received = b""
        self._in_noise = False

    def take(self, content: bytes) -> Iterator[Status]:
        """The answers that are whole now."""
        self._received += content
        while self._received:
            status, done = self._protocol.take(self._received, self._known)
            self._received = self._received[done:]
            if status is None:
                self._drop(done)
                return
            self._drop(done - status.wire_size)
            self._in_noise = False
            yield status

    def end(self) -> None:
        """Nothing more comes: the beginning of an answer was none."""
        self._drop(len(self._received))

    def _drop(self, size: int) -> None:
        if size:
            self._counts.dropped_bytes += size
            self._counts.damaged += not self._in_noise
            self._in_noise = True
