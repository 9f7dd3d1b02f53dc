"""What keeps Python itself from making a loop late."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["undisturbed"]

SWITCH_S = 0.0005


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let a loop in the block begin its turns in time, whatever else this program does.

    All that exists already is left out of garbage collections, each of which would take tens of milliseconds, and
    threads that show something give way within half a millisecond instead of five.
    """
    before = sys.getswitchinterval()
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
        gc.unfreeze()
