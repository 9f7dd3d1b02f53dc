"""Releases the motors of an arm whose program was killed. A process of its own, which needs pyserial and nothing else.

    the program                              this process, in a session of its own: Ctrl-C does not reach it
    ───────────                              ────────────
    connect  ── port, what to send ──▶ waits for the end of the pipe (or of the program, if a child keeps the pipe open)
    …
    disconnect ────── "done" ────────▶ leaves the motors alone
    killed   ────── end of pipe ─────▶ opens the port ──▶ sends, until all motors have answered, or 10 s have passed

What to send comes from the program, as bytes: this process knows no motors. `TorqueWatch` is the program's side, and
has signals blocked here: a shutdown, which tells all processes to end, must not end this one first.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys
import termios
import time
from typing import Any

__all__ = ["main"]

DONE = "done"
# How often to look whether the program lives: its children may keep the pipe open.
LOOK_EVERY_S = 0.2
# A cable may be plugged in again, and a port may be held for a moment.
PATIENCE_S = 10.0
TRY_AGAIN_S = 0.05
ANSWER_S = 0.05
TRIES = 5


def main() -> int:
    """Read the order, wait, and release the motors unless the program has done it."""
    lines, is_shared = _wait()
    if not lines or DONE in lines:
        return 0
    order = json.loads(lines[0])
    released = _release(order, is_shared)
    result = "the watchdog has done it" if released else "nor by the watchdog: switch off its power before you touch it"
    _say(f"yardarm: {order['device']} on {order['port']} was not released by its program; {result}")
    return 0 if released else 1


def _wait() -> tuple[list[str], bool]:
    """What the program wrote until it was done or died, and whether others still hold what it had open."""
    program, received = int(sys.argv[1]), b""
    while True:
        ready, _, _ = select.select([0], [], [], LOOK_EVERY_S)
        content = os.read(0, 65536) if ready else None
        received += content or b""
        lines = received.decode().split("\n")[:-1]
        if content == b"" or DONE in lines:
            return lines, False
        if content is None and os.getppid() != program:
            return lines, True


def _release(order: dict[str, Any], is_shared: bool) -> bool:
    """Open the port and send, again and again, until all have answered or the time is up."""
    import serial

    ends = time.monotonic() + PATIENCE_S
    requests = [(bytes.fromhex(request), bytes.fromhex(answer)) for request, answer in order["requests"]]
    while time.monotonic() < ends:
        try:
            # Whoever locks the port now has a watchdog of its own; but a child of the program only inherited its lock.
            with serial.Serial(order["port"], order["baud_rate"], timeout=0, exclusive=not is_shared or None) as port:
                requests = [asked for asked in requests if not _is_done(port, *asked)]
        except (OSError, termios.error):
            pass  # it is not there, or somebody else's, for now
        if not any(answer for _, answer in requests):
            return True
        time.sleep(TRY_AGAIN_S)
    return False


def _is_done(port: Any, request: bytes, answer: bytes) -> bool:
    """Send a request until it is answered as expected; what nobody answers is sent once, and always done."""
    for _ in range(TRIES):
        port.reset_input_buffer()
        port.write(request)
        if not answer:
            return True
        ends, received = time.monotonic() + ANSWER_S, b""
        while (left := ends - time.monotonic()) > 0:
            if select.select([port.fileno()], [], [], left)[0]:
                received += port.read(4096)
            if answer in received:
                return True
    return False


def _say(text: str) -> None:
    with contextlib.suppress(OSError):  # the terminal may be gone, too
        print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
