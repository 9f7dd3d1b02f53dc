"""Releases the motors of an arm whose program was killed. A process of its own, which needs pyserial and nothing else.

    the program                              this process, in a session of its own: Ctrl-C does not reach it
    ───────────                              ────────────
    connect  ── port, what to send ──▶ waits for the end of the pipe (or of the program, if a child keeps the pipe open)
    …
    disconnect ────── "done" ────────▶ leaves the motors alone
    killed   ────── end of pipe ─────▶ opens the port ──▶ sends, until all motors have answered, or 10 s have passed,
                                       or somebody else has locked the port: the arm is theirs now

What to send comes from the program, as bytes: this process knows no motors. `TorqueWatch` is the program's side, and
has signals blocked here: a shutdown, which tells all processes to end, must not end this one first.
"""

from __future__ import annotations

import contextlib
import errno
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
# A cable may be plugged in again.
PATIENCE_S = 10.0
# How long a program that dies may keep its port locked; whoever has it later has taken over.
DYING_S = 0.5
# Between two attempts, whoever waits for the port gets it.
TRY_AGAIN_S = 0.05
ANSWER_S = 0.05


def main() -> int:
    """Read the order, wait, and release the motors unless the program has done it."""
    lines, is_shared = _wait()
    if not lines or DONE in lines:
        return 0
    order = json.loads(lines[0])
    try:
        released = _release(order, is_shared)
    except BlockingIOError:
        _say(f"yardarm: {order['device']} on {order['port']} was not released by its program; another one has it now")
        return 0
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
    """Open the port and send, again and again, until all have answered or the time is up.

    Raises BlockingIOError if somebody else has the port.
    """
    import serial

    started = time.monotonic()
    ends, others_from = started + PATIENCE_S, started + DYING_S
    requests = [(bytes.fromhex(request), bytes.fromhex(answer)) for request, answer in order["requests"]]
    while time.monotonic() < ends:
        try:
            # Whoever locks the port now has a watchdog of its own; but a child of the program only inherited its lock.
            with serial.Serial(order["port"], order["baud_rate"], timeout=0, exclusive=not is_shared or None) as port:
                others_from = started  # this process had it: it is the dying program's no more
                requests = [asked for asked in requests if not _is_done(port, *asked)]
        except (OSError, termios.error) as error:  # it may be plugged in again
            if getattr(error, "errno", None) == errno.EWOULDBLOCK and time.monotonic() > others_from:
                raise BlockingIOError from None
        if not any(answer for _, answer in requests):
            return True
        time.sleep(TRY_AGAIN_S)
    return False


def _is_done(port: Any, request: bytes, answer: bytes) -> bool:
    """Send a request, and see whether it is answered as expected; what nobody answers is always done."""
    port.reset_input_buffer()
    port.write(request)
    ends, received = time.monotonic() + ANSWER_S, b""
    while answer not in received and (left := ends - time.monotonic()) > 0:
        if select.select([port.fileno()], [], [], left)[0]:
            received += port.read(4096)
    return answer in received


def _say(text: str) -> None:
    with contextlib.suppress(OSError):  # the terminal may be gone, too
        print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
