"""Keys from the terminal itself: over SSH, on Wayland, on a console.

    terminal ──bytes──▶ _Source ──names──▶ Keys of the recording   ("right", "left", "esc": for it alone)
                        one per process └▶ Keys of the teleoperator (all others)

Nobody waits: whoever asks for keys reads what has arrived, for everybody.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import signal
import sys
import termios
import threading
import time
from collections import deque
from collections.abc import Collection
from types import FrameType, TracebackType
from typing import Any, Self

from yardarm.robots.key_names import NAMED, KeyDecoder

__all__ = ["HOLD_S", "Keys"]

HOLD_S = 0.2
"""How long a key counts as held after its last repeat. Slow keyboards repeat every 0.1 s, and SSH adds to it."""
ESCAPE_S = 0.05
"""How long the rest of an escape sequence may take; then it was the Esc key."""
LINE_S = 0.2
"""How long a pipe may take for the rest of a line."""
PAGE = 4096
UNREAD = 1000  # presses that nobody asked for
DEADLY = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT)


class Keys:
    """The keys that a person presses; inside of a ``with`` block, the terminal sends each of them at once.

    Several may be open: each gets all keys but those that another one has for itself (`own`). Where standard input is
    no terminal, keys are read from it: a line with a key's name (`right`), or characters.
    """

    def __init__(self, own: Collection[str] = (), fd: int | None = None) -> None:
        self.own = frozenset(own)
        self._fd = _standard_input() if fd is None else fd
        self._source: _Source | None = None
        self._pressed: deque[str] = deque(maxlen=UNREAD)
        self._last: dict[str, float] = {}

    @property
    def is_terminal(self) -> bool:
        """Whether a person can press keys."""
        return self._fd is not None and os.isatty(self._fd)

    def pressed(self) -> list[str]:
        """What was pressed since the last call, in order; a key that repeats is there for each time."""
        self._poll()
        taken = list(self._pressed)
        self._pressed.clear()
        return taken

    def held(self) -> set[str]:
        """What is held down, as far as a terminal can tell: a key until `HOLD_S` after its last repeat."""
        self._poll()
        since = time.monotonic() - HOLD_S
        self._last = {name: moment for name, moment in self._last.items() if moment >= since}
        return set(self._last)

    def take(self, name: str) -> None:
        """A key was pressed."""
        self._pressed.append(name)
        self._last[name] = time.monotonic()

    def _poll(self) -> None:
        if self._source is not None:
            self._source.poll()

    def open(self) -> None:
        """Begin to listen."""
        if self._fd is not None and self._source is None:
            self._source = _Source.join(self._fd, self)

    def close(self) -> None:
        """Stop listening; the last one leaves the terminal as it was."""
        if self._source is not None:
            self._source.leave(self)
            self._source = None

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Source:
    """A file descriptor that keys come from, for all that listen."""

    _open: dict[int, _Source] = {}  # noqa: RUF012 - the process's

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._is_terminal = os.isatty(fd)
        self._before: list[Any] | None = None
        self._listeners: list[Keys] = []
        self._decoder = KeyDecoder()
        self._line = b""
        self._last_s = 0.0
        self._is_over = False
        self._lock = threading.RLock()
        self._handlers: dict[int, Any] = {}

    @classmethod
    def join(cls, fd: int, listener: Keys) -> _Source:
        """The source of a descriptor, which a listener listens to from now on."""
        source = cls._open.setdefault(fd, cls(fd))
        if not source._listeners:
            source._begin()
        source._listeners.append(listener)
        return source

    def leave(self, listener: Keys) -> None:
        """A listener listens no more."""
        self._listeners.remove(listener)
        if not self._listeners:
            self._end()
            del self._open[self._fd]

    def poll(self) -> None:
        """Give what has arrived to those who listen; never waits."""
        with self._lock:
            if self._is_terminal and not self._is_ours():
                return  # in the background: to read would stop the process
            self._prepare()
            content = self._read()
            now = time.monotonic()
            if content:
                self._last_s = now
            keys = self._keys(content, now - self._last_s) if self._is_terminal else self._piped(content, now)
            for name in keys:
                self._give(name)

    def _give(self, name: str) -> None:
        owners = [listener for listener in self._listeners if name in listener.own]
        for listener in owners or self._listeners:
            listener.take(name)

    def _keys(self, content: bytes, waited_s: float) -> list[str]:
        keys = self._decoder.feed(content)
        if self._decoder.is_waiting and not content and waited_s > ESCAPE_S:
            keys += self._decoder.finish()
        return keys

    def _piped(self, content: bytes, now: float) -> list[str]:
        """A line may name a key; what else comes is characters."""
        *lines, self._line = (self._line + content).split(b"\n")
        if self._line and (self._is_over or now - self._last_s > LINE_S):
            lines, self._line = [*lines, self._line], b""
        keys = []
        for line in lines:
            word = line.decode(errors="ignore").strip()
            keys += [word] if word in NAMED else [*self._decoder.feed(line), *self._decoder.finish()] or ["enter"]
        return keys

    def _read(self) -> bytes:
        """What has arrived; more than a page of it can wait for the next turn."""
        with contextlib.suppress(OSError):  # a terminal that is gone has no keys
            if not self._is_over and select.select([self._fd], [], [], 0)[0]:
                content = os.read(self._fd, PAGE)
                self._is_over = not content
                return content
        return b""

    def _is_ours(self) -> bool:
        """Whether this process is in the foreground of its terminal."""
        try:
            return os.tcgetpgrp(self._fd) == os.getpgrp()
        except OSError:  # a terminal that is not the one that controls this process; nobody shares it
            return True

    def _begin(self) -> None:
        if not self._is_terminal:
            return
        atexit.register(self._restore)
        if threading.current_thread() is threading.main_thread():
            for number in DEADLY:
                if signal.getsignal(number) == signal.SIG_DFL:
                    self._handlers[number] = signal.signal(number, self._die)
            if signal.getsignal(signal.SIGTSTP) == signal.SIG_DFL:
                self._handlers[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, self._stop)
            self._handlers[signal.SIGCONT] = signal.signal(signal.SIGCONT, self._resume)
        if self._is_ours():
            self._prepare()

    def _end(self) -> None:
        if not self._is_terminal:
            return
        self._restore()
        atexit.unregister(self._restore)
        if threading.current_thread() is threading.main_thread():  # no other may
            for number, handler in self._handlers.items():
                signal.signal(number, handler)

    def _prepare(self) -> None:
        """Have each key sent at once and not shown; again after Ctrl-Z, when a shell has put its own settings back."""
        if not self._is_terminal:
            return
        with contextlib.suppress(termios.error):
            now = termios.tcgetattr(self._fd)
            if not now[3] & (termios.ICANON | termios.ECHO):
                return
            if self._before is None:
                self._before = termios.tcgetattr(self._fd)
            now[0] &= ~termios.IXON  # Ctrl-S must not stop what the loop prints, and the loop with it
            now[3] &= ~(termios.ICANON | termios.ECHO)
            now[6][termios.VMIN], now[6][termios.VTIME] = 1, 0
            termios.tcsetattr(self._fd, termios.TCSANOW, now)

    def _restore(self) -> None:
        """Leave the terminal as it was; one that another process has now is left alone."""
        if self._before is not None and self._is_ours():
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._fd, termios.TCSANOW, self._before)

    def _die(self, number: int, frame: FrameType | None) -> None:
        """Die of a signal as this process would have, with the terminal restored."""
        self._restore()
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._restore()
        os.kill(os.getpid(), signal.SIGSTOP)

    def _resume(self, number: int, frame: FrameType | None) -> None:
        if self._is_ours():
            self._prepare()


def _standard_input() -> int | None:
    try:
        return sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):  # there is none, or a test's
        return None
