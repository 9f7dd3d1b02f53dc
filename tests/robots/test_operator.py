"""The person on a terminal, or the program that pipes in the answers."""

from __future__ import annotations

import os
import pty
import sys

import pytest

from tests.helpers import wait_until
from tests.robots.answers import type_ahead
from yardarm.errors import UsageError
from yardarm.robots import TerminalOperator

TABLE = [("joint", "now"), ("elbow", "3")]


def test_enter_does_not_shift_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, keyboard = pty.openpty()
    with os.fdopen(keyboard, "r+b", buffering=0) as terminal, os.fdopen(os.dup(keyboard), "w") as output:
        monkeypatch.setattr(sys, "stdin", terminal)
        monkeypatch.setattr(sys, "stdout", output)
        operator = TerminalOperator()
        operator.show(TABLE)
        os.write(screen, b"\n")
        wait_until(operator._has_line)
        operator.show(TABLE)
        assert operator.has_answered()
    shown = os.read(screen, 4096)
    os.close(screen)
    assert shown.count(b"elbow") == 1


def test_each_question_to_a_pipe_has_a_line_of_its_own(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    type_ahead(monkeypatch, "s")
    operator = TerminalOperator()
    assert operator.ask("One?") == "s"
    with pytest.raises(UsageError, match="the answers ended too early"):
        operator.ask("Two?")
    assert capsys.readouterr().out == "One? \nTwo? \n"
