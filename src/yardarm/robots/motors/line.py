"""The serial line to the motors: one request at a time, and the answers to it and to no other.

send ──▶ drop what is left over ──▶ write ──▶ wait (asleep, in the kernel) ──▶ answers ──▶ done
                                                │ time is up
                                                ▼
         the next request first waits until the line is silent: whatever comes now is late
"""

from __future__ import annotations

import errno
import os
import select
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from yardarm.errors import BusFault, SetupError
from yardarm.robots.motors.wire import Status, WireProtocol

__all__ = ["LineCounts", "SerialLine"]

# A packet has ten bits for each byte: eight of data, a start bit and a stop bit.
BITS = 10
# How long a motor and the adapter on the USB may take to begin an answer: FTDI's adapters collect for 16 ms, and a busy
# machine may be late itself. Answers usually begin within 1 ms.
PATIENCE_S = 0.050
# After a time-out: how long the line must be silent before anything else is asked, and how long that may take.
SILENCE_S = 0.020
LONGEST_SILENCE_S = 0.2
# How long to wait for a port that another process has.
LOCK_S = 1.0
CHUNK = 4096


@dataclass(slots=True)
class LineCounts:
    """What happened on a line, in packets and bytes."""

    requests: int = 0
    timeouts: int = 0
    """Requests to which an answer was missing."""
    dropped_bytes: int = 0
    """Bytes that were no answer to the question: noise, damaged packets, late answers."""


class SerialLine:
    """A port that speaks a protocol. `on_bytes` hears everything that is sent (True) and received (False)."""

    def __init__(
        self, port: str, baud_rate: int, protocol: WireProtocol, on_bytes: Callable[[bool, bytes], None] | None = None
    ) -> None:
        self.port, self.baud_rate = port, baud_rate
        self.patience_s = PATIENCE_S
        self.counts = LineCounts()
        self._protocol = protocol
        self._on_bytes = on_bytes or (lambda sent, content: None)
        self._serial: Any = None
        self._suspect = False

    @property
    def is_open(self) -> bool:
        """Whether the port is open."""
        return self._serial is not None

    def open(self) -> None:
        """Open the port, for this process alone."""
        try:
            import serial
        except ModuleNotFoundError as error:
            raise SetupError(f"robots need pyserial; run: pip install 'yardarm[robots]' ({error})") from error
        try:
            self._serial = self._locked(serial.Serial)
        except (OSError, ValueError) as error:
            raise BusFault(
                f"cannot open the port {self.port}: {error}; is it plugged in, and does another program use it? "
                "`yardarm find-port` lists what there is"
            ) from None

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
            self._serial.close()
            self._serial = None

    def set_baud_rate(self, baud_rate: int) -> None:
        """Go on at another speed."""
        self.baud_rate = baud_rate
        if self._serial is not None:
            self._serial.baudrate = baud_rate

    def ask(self, request: bytes, expected: Mapping[int, int]) -> dict[int, Status]:
        """Send a request, and return the answers of those that are expected to answer: id → size of the answer.

        Who does not answer in time is missing from the result.
        """
        self._fall_silent()
        self._suspect = True  # until all answers are here, even if Ctrl-C ends this
        self._write(request)
        self.counts.requests += 1
        answers = sum(self._protocol.answer_size(params) for params in expected.values())
        on_the_way_s = (len(request) + answers) * BITS / self.baud_rate
        found = self._receive(dict(expected), time.monotonic() + self.patience_s + on_the_way_s)
        self._suspect = len(found) < len(expected)
        self.counts.timeouts += self._suspect
        return found

    def tell(self, request: bytes) -> None:
        """Send a request that nobody answers."""
        self._fall_silent()
        self._write(request)
        self.counts.requests += 1

    def listen(self, request: bytes, candidates: Mapping[int, int], seconds: float) -> dict[int, Status]:
        """Send a request, and return whoever answers within a time."""
        self._fall_silent()
        self._write(request)
        return self._receive(dict(candidates), time.monotonic() + seconds)

    def _receive(self, expected: dict[int, int], until: float) -> dict[int, Status]:
        """Read until everybody has answered, or the time is up. Each answers once."""
        found: dict[int, Status] = {}
        received = b""
        while expected and (content := self._read(until)):
            received += content
            while expected:
                status, done = self._protocol.take(received, expected)
                answer = self._protocol.answer_size(len(status.params)) if status else 0
                self.counts.dropped_bytes += max(0, done - answer)
                received = received[done:]
                if status is None:
                    break
                found[status.id] = status
                del expected[status.id]
        self.counts.dropped_bytes += len(received)
        return found

    def _fall_silent(self) -> None:
        """Drop what was not asked for; after a time-out, wait until nothing comes any more."""
        longest = time.monotonic() + LONGEST_SILENCE_S
        while True:
            quiet_until = time.monotonic() + SILENCE_S if self._suspect else 0.0
            content = self._read(min(quiet_until, longest))
            if not content:
                break
            self.counts.dropped_bytes += len(content)
        self._suspect = False

    def _read(self, until: float) -> bytes:
        """Whatever comes first, asleep until then; nothing if the time is up."""
        descriptor = self._open_serial().fileno()
        wait = max(0.0, until - time.monotonic())
        try:
            ready, _, _ = select.select([descriptor], [], [], wait)
            content = os.read(descriptor, CHUNK) if ready else b""
        except OSError as error:
            raise self._lost(error) from None
        if ready and not content:
            raise self._lost("it was closed")
        if content:
            self._on_bytes(False, content)
        return content

    def _write(self, content: bytes) -> None:
        descriptor = self._open_serial().fileno()
        self._on_bytes(True, content)
        try:
            while content:
                select.select([], [descriptor], [])
                content = content[os.write(descriptor, content) :]
        except OSError as error:
            raise self._lost(error) from None

    def _open_serial(self) -> Any:
        if self._serial is None:
            raise BusFault(f"the port {self.port} is not open; connect first")
        return self._serial

    def _lost(self, reason: object) -> BusFault:
        return BusFault(f"the port {self.port} is gone ({reason}); check the USB cable, then connect again")
