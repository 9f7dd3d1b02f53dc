"""A pseudo-terminal as standard input: what a person types."""

from __future__ import annotations

import contextlib
import os
import pty
import sys
from collections.abc import Callable, Iterator
from unittest import mock

__all__ = ["typing"]


@contextlib.contextmanager
def typing() -> Iterator[Callable[[str], None]]:
    """Make standard input a terminal, and type on it."""
    person, program = pty.openpty()
    try:
        with os.fdopen(program, "r") as terminal, mock.patch.object(sys, "stdin", terminal):
            yield lambda keys: (os.write(person, keys.encode()), None)[1]
    finally:
        os.close(person)
