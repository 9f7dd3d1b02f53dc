"""What a person types: ahead, into a pipe, or on a terminal, where commands see one."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator

import pytest

STILL_S = 120.0


def type_ahead(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    """Have these lines typed, and nothing after them."""
    typed, keyboard = os.pipe()
    os.write(keyboard, "".join(f"{line}\n" for line in lines).encode())
    os.close(keyboard)
    monkeypatch.setattr(sys, "stdin", os.fdopen(typed))


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, process: subprocess.Popen[bytes], screen: int) -> None:
        self.process, self._screen = process, screen
        self.output = ""

    def wait_for(self, pattern: str) -> None:
        """Wait until something is on the screen, and forget all before it."""
        ends = time.monotonic() + STILL_S
        while not (found := re.search(pattern, self.output)):
            ready, _, _ = select.select([self._screen], [], [], max(0.0, ends - time.monotonic()))
            assert ready, f"'{pattern}' did not come; there is: {self.output}"
            self.output += os.read(self._screen, 4096).decode(errors="replace")
        self.output = self.output[found.end() :]

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def exit_code(self) -> int:
        """Wait until the command ends."""
        ends = time.monotonic() + STILL_S
        while self.process.poll() is None:
            if time.monotonic() > ends:
                self._where_it_hangs()
                raise AssertionError(f"it did not end; there is: {self.output}")
            self._drain()
        while self._drain():
            pass
        return self.process.returncode

    def _where_it_hangs(self) -> None:
        """Have the stacks of all its threads printed."""
        self.process.send_signal(signal.SIGABRT)
        self.process.wait(60)
        while self._drain():
            pass

    def _drain(self) -> bool:
        """Read a page of what is there; whether there was any."""
        before = len(self.output)
        if select.select([self._screen], [], [], 0.05)[0]:
            with contextlib.suppress(OSError):  # the other end is closed
                self.output += os.read(self._screen, 4096).decode(errors="replace")
        return len(self.output) > before


def _as_a_shell_does() -> None:
    """Take the terminal, so that its Ctrl-C arrives, and hear all signals: `nohup` may have started the tests."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def on_a_terminal(*words: object) -> Iterator[Terminal]:
    """Run the command line as a user does, on a terminal."""
    screen, keyboard = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "yardarm", *map(str, words)],
        stdin=keyboard,
        stdout=keyboard,
        stderr=keyboard,
        start_new_session=True,
        env={**os.environ, "PYTHONFAULTHANDLER": "1"},
        preexec_fn=_as_a_shell_does,
    )
    os.close(keyboard)
    try:
        yield Terminal(process, screen)
    finally:
        process.kill()
        process.wait()
        os.close(screen)
