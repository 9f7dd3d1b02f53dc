"""Keys come from the terminal, and the terminal is left as it was."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import wait_until
from yardarm.robots.key_names import KeyDecoder
from yardarm.robots.keys import HOLD_S, Keys

# Prints each key; Esc ends it.
LISTENER = """
import sys, time
from yardarm.robots.keys import Keys
with Keys() as keys:
    print("ready", flush=True)
    while True:
        for name in keys.pressed():
            print(f"<{name}>", flush=True)
            if name == "esc":
                sys.exit()
            if name == "x":
                raise RuntimeError("as asked")
        time.sleep(0.005)
"""


class Terminal:
    """A pseudo-terminal: what a person types, and what they see."""

    def __init__(self) -> None:
        self.person, self.program = pty.openpty()
        self.seen = ""

    def type(self, keys: str) -> None:
        os.write(self.person, keys.encode())

    def settings(self) -> list[object]:
        return termios.tcgetattr(self.program)

    def echoes(self) -> bool:
        return bool(termios.tcgetattr(self.program)[3] & termios.ECHO)

    def sees(self, text: str) -> None:
        wait_until(lambda: text in self._look())

    def _look(self) -> str:
        os.set_blocking(self.person, False)
        with contextlib.suppress(BlockingIOError):
            self.seen += os.read(self.person, 4096).decode()
        return self.seen


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    terminal = Terminal()
    yield terminal
    os.close(terminal.person)
    os.close(terminal.program)


@contextlib.contextmanager
def listening(terminal: Terminal, program: str = LISTENER) -> Iterator[subprocess.Popen[bytes]]:
    """A program in the foreground of a terminal, as a shell starts it."""

    def take_terminal() -> None:
        for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)  # whoever started the tests in the background had them ignored
        os.setsid()
        os.open(os.ttyname(0), os.O_RDWR)  # the first terminal that is opened becomes the controlling one

    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=terminal.program,
        stdout=terminal.program,
        stderr=terminal.program,
        preexec_fn=take_terminal,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def pressed(keys: Keys, count: int) -> list[str]:
    found: list[str] = []

    def enough() -> bool:
        found.extend(keys.pressed())
        return len(found) >= count

    wait_until(enough)
    return found


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("nQ", ["n", "q"]),
        ("\x1b[C\x1b[D\x1b[A\x1b[B", ["right", "left", "up", "down"]),
        ("\x1bOC\x1bOP", ["right", "f1"]),
        (
            "\x1b[1;2A\x1b[1;5C\x1b[1;6D\x1b[a\x1bOd",
            ["shift+up", "ctrl+right", "ctrl+shift+left", "shift+up", "ctrl+left"],
        ),
        ("\x1b[5~\x1b[3;5~\x1b[15~\x1b[[B", ["page_up", "ctrl+delete", "f5", "f2"]),
        (" \t\r\n\x7f", ["space", "tab", "enter", "enter", "backspace"]),
        ("\x01\x1a\x00", ["ctrl+a", "ctrl+z", "ctrl+space"]),
        ("\x1b[97;5u\x1b[27;5;98~\x1b[27u", ["ctrl+a", "ctrl+b", "esc"]),
        ("\x1b[I\x1b[<0;3;4M\x1b[200~a", ["a"]),
        ("\x1b\x1b[Aé漢", ["esc", "up", "é", "漢"]),
        ("\x1bq", ["esc", "q"]),
    ],
)
def test_what_terminals_send_has_names(typed: str, names: list[str]) -> None:
    assert KeyDecoder().feed(typed.encode()) == names


@given(st.lists(st.sampled_from(["a", "\x1b[C", "\x1bOP", "\x1b[1;2A", "é", " "]), max_size=8), st.data())
def test_a_sequence_may_arrive_in_pieces(typed: list[str], data: st.DataObject) -> None:
    content = "".join(typed).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=5)))
    pieces = [content[start:end] for start, end in zip([0, *cuts], [*cuts, len(content)], strict=True)]
    decoder = KeyDecoder()
    assert [name for piece in pieces for name in decoder.feed(piece)] == KeyDecoder().feed(content)


@given(st.binary(max_size=40))
def test_no_bytes_break_it(content: bytes) -> None:
    decoder = KeyDecoder()
    names = decoder.feed(content) + decoder.finish()
    assert all(names)
    assert not decoder.is_waiting


def test_a_lone_esc_is_told_from_an_arrow(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    with Keys(fd=terminal.program) as keys:
        terminal.type("\x1b")
        assert keys.pressed() == []  # nobody waits for the rest of a sequence
        assert pressed(keys, 1) == ["esc"]
        monkeypatch.setattr("yardarm.robots.keys.ESCAPE_S", 60)  # however busy the machine is
        terminal.type("\x1b")
        keys.pressed()
        terminal.type("[C")
        assert pressed(keys, 1) == ["right"]


def test_a_key_is_held_until_it_repeats_no_more(terminal: Terminal) -> None:
    with Keys(fd=terminal.program) as keys:
        typed = time.monotonic()
        terminal.type("w")
        wait_until(lambda: keys.held() == {"w"})
        wait_until(lambda: not keys.held())
        assert time.monotonic() - typed > HOLD_S
        assert keys.pressed() == ["w"]
        assert keys.pressed() == []


def test_each_listener_gets_all_keys_but_those_that_another_has_for_itself(terminal: Terminal) -> None:
    before = terminal.settings()
    with Keys(fd=terminal.program) as teleoperator:
        with Keys(own=("right", "esc"), fd=terminal.program) as recording:
            terminal.type("w\x1b[Cn")
            assert pressed(recording, 3) == ["w", "right", "n"]
            assert teleoperator.pressed() == ["w", "n"]
        assert not terminal.echoes()
        terminal.type("\x1b[C")
        assert pressed(teleoperator, 1) == ["right"]
    assert terminal.settings() == before


def test_a_pipe_gives_lines_that_name_keys_or_characters() -> None:
    reading, writing = os.pipe()
    try:
        with Keys(fd=reading) as keys:
            assert not keys.is_terminal
            assert keys.pressed() == []
            os.write(writing, b"right\nn\n\nab\n\x1b[D\nq")
            os.close(writing)
            assert pressed(keys, 7) == ["right", "n", "enter", "a", "b", "left", "q"]
            assert keys.pressed() == []
    finally:
        os.close(reading)


@pytest.mark.parametrize("fd", [None, 1000])
def test_without_standard_input_there_are_no_keys(fd: int | None) -> None:
    with Keys(fd=fd) as keys:
        assert keys.pressed() == []
        assert keys.held() == set()


@pytest.mark.parametrize(
    ("way_out", "expected"),
    [
        ("\x1b", 0),
        ("x", 1),
        ("\x03", -signal.SIGINT),
        ("\x1c", -signal.SIGQUIT),
        *((number, -number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)),
    ],
)
def test_the_terminal_is_as_before_on_every_way_out(
    way_out: str | signal.Signals, expected: int, terminal: Terminal
) -> None:
    before = terminal.settings()
    with listening(terminal) as process:
        terminal.sees("ready")
        terminal.type("\x1b[1;2Aw")
        terminal.sees("<shift+up>\r\n<w>")
        assert not terminal.echoes()
        if isinstance(way_out, signal.Signals):
            process.send_signal(way_out)
        else:
            terminal.type(way_out)
        code = process.wait(60)
    assert terminal.settings() == before
    assert code == expected


def test_it_goes_on_after_ctrl_z_and_fg(terminal: Terminal) -> None:
    before = terminal.settings()
    with listening(terminal) as process:
        terminal.sees("ready")
        terminal.type("\x1a")
        # In a session of its own nobody could continue it, so the kernel would ignore Ctrl-Z; SIGSTOP is not ignored.
        wait_until(lambda: _state(process.pid) == "T")
        assert terminal.settings() == before
        process.send_signal(signal.SIGCONT)
        wait_until(lambda: not terminal.echoes())
        terminal.type("g\x1b")
        terminal.sees("<g>")
        assert process.wait(60) == 0
    assert terminal.settings() == before


def test_a_shell_that_changes_the_terminal_meanwhile_is_no_problem(terminal: Terminal) -> None:
    cooked = termios.tcgetattr(terminal.program)
    with Keys(fd=terminal.program) as keys:
        termios.tcsetattr(terminal.program, termios.TCSANOW, cooked)
        terminal.type("a")
        assert pressed(keys, 1) == ["a"]
        assert not terminal.echoes()
    assert terminal.settings() == cooked


def _state(pid: int) -> str:
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]
