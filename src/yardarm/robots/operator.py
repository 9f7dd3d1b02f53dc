"""The person beside a robot, on a terminal: what they are told, and what they answer."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Sequence
from typing import Protocol

from yardarm.errors import UsageError

__all__ = ["Operator", "Row", "TerminalOperator"]

Row = tuple[str, ...]


class Operator(Protocol):
    """Whoever answers. Tests and pages have operators of their own."""

    def say(self, text: str) -> None:
        """Say something."""

    def ask(self, text: str) -> str:
        """Say something, and wait for a line."""

    def show(self, rows: Sequence[Row]) -> None:
        """Show a table that changes; the first row has the headings."""

    def has_answered(self) -> bool:
        """Whether a line has come since; never waits."""


class TerminalOperator:
    """A person on a terminal, over SSH, or a program that pipes in the answers."""

    def __init__(self) -> None:
        self._shown = 0

    def say(self, text: str) -> None:
        """Print a line."""
        self._shown = 0
        print(text, flush=True)

    def ask(self, text: str) -> str:
        """Print a question, and wait for a line."""
        self._shown = 0
        print(text, end=" ", flush=True)
        try:
            return self._line()
        finally:
            if not sys.stdin.isatty():
                print(flush=True)  # a terminal shows the ENTER; a pipe does not

    def show(self, rows: Sequence[Row]) -> None:
        """Draw a table over the one before; where nobody looks, draw nothing."""
        if not sys.stdout.isatty():
            return
        if self._shown and self._has_line():
            return  # ENTER has moved the cursor below the table
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        if self._shown:
            print(f"\x1b[{self._shown}A", end="")
        for row in rows:
            print("\x1b[2K" + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        self._shown = len(rows)
        sys.stdout.flush()

    def has_answered(self) -> bool:
        """Whether Enter was pressed."""
        ready = self._has_line()
        if ready:
            self._line()
        return ready

    def _has_line(self) -> bool:
        ready, _, _ = select.select([sys.stdin], [], [], 0)
        return bool(ready)

    def _line(self) -> str:
        """A line, byte by byte: what Python would read ahead could not be waited for any more."""
        line = b""
        while not line.endswith(b"\n"):
            byte = os.read(sys.stdin.fileno(), 1)
            if not byte:
                raise UsageError("the answers ended too early: nothing more can be read from standard input")
            line += byte
        return line.decode(errors="replace").strip()
