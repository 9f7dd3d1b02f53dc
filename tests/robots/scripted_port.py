"""A port behind which recorded motors answer: each request must be the next one of the recording."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import threading
import tty
from collections.abc import Iterator, Sequence

from yardarm.robots.motors.dynamixel import DynamixelProtocol
from yardarm.robots.motors.feetech import FeetechProtocol
from yardarm.robots.motors.line import SETTLING_SIZES
from yardarm.robots.twins.chain import DynamixelSide, FeetechSide

SIDES = ((FeetechProtocol(), FeetechSide()), (DynamixelProtocol(), DynamixelSide()))
# What is asked after a silence, and answered; it is no part of a recording.
SETTLING = {
    protocol.read(id, 0, size).hex(): side.answer(id, 0, bytes(size))
    for size in SETTLING_SIZES
    for protocol, side in SIDES
    for id in range(1, 17)
}


class ScriptedPort:
    """A pseudo-terminal that answers from a script of (sent, answered), in hex."""

    def __init__(self) -> None:
        self._motors, self._host = pty.openpty()
        tty.setraw(self._host)
        self.path = os.ttyname(self._host)
        self.sent: list[str] = []
        self._script: list[tuple[str, str]] = []
        self._received = b""
        self._stopped, self._stop = os.pipe()
        self._thread = threading.Thread(target=self._answer, daemon=True)
        self._thread.start()

    @contextlib.contextmanager
    def following(self, script: Sequence[Sequence[str]]) -> Iterator[None]:
        """Answer by a script, and note what is sent."""
        self.sent, self._script = [], [(sent, answered) for sent, answered in script]
        yield
        self._wait_for([sent for sent, _ in script])

    def close(self) -> None:
        os.write(self._stop, b"x")
        self._thread.join()
        for descriptor in (self._motors, self._host, self._stopped, self._stop):
            os.close(descriptor)

    def _answer(self) -> None:
        while True:
            ready, _, _ = select.select([self._motors, self._stopped], [], [])
            if self._stopped in ready:
                return
            self._received += os.read(self._motors, 4096)
            while (size := self._request_size()) and len(self._received) >= size:
                request, self._received = self._received[:size].hex(), self._received[size:]
                if request in SETTLING:
                    os.write(self._motors, SETTLING[request])
                    continue
                self.sent.append(request)
                if self._script:
                    _, answered = self._script.pop(0)
                    os.write(self._motors, bytes.fromhex(answered))

    def _request_size(self) -> int:
        """The size of the first request, once it is known; two may arrive together."""
        got = self._received
        if got[:4] == b"\xff\xff\xfd\x00":
            return 7 + int.from_bytes(got[5:7], "little") if len(got) >= 7 else 0
        return 4 + got[3] if len(got) >= 4 else 0

    def _wait_for(self, expected: Sequence[str]) -> None:
        """Requests without an answer may still be on their way."""
        for _ in range(200):
            if len(self.sent) >= len(expected):
                return
            threading.Event().wait(0.005)
