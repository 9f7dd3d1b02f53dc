"""What keeps other programs, other threads and Python itself from making a loop late."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

__all__ = ["undisturbed"]

SWITCH_S = 0.0005
# Above everything ordinary, and below what the system itself does in real time.
PRIORITY = 10


@contextmanager
def undisturbed(priority: bool = True) -> Iterator[None]:
    """Let a loop in the block begin its turns in time, whatever else goes on.

    All that exists already is left out of garbage collections, each of which would take tens of milliseconds. Threads
    that show something give way within half a millisecond instead of five. With `priority`, this thread runs before
    all ordinary programs, if the system allows it.
    """
    before = sys.getswitchinterval()
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(SWITCH_S)
    try:
        with _real_time() if priority else nullcontext():
            yield
    finally:
        sys.setswitchinterval(before)
        gc.unfreeze()


@contextmanager
def _real_time() -> Iterator[None]:
    """This thread first; not those that it starts, and no process."""
    if not hasattr(os, "sched_setscheduler"):  # macOS
        yield
        return
    policy, own = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(PRIORITY))
    except OSError:  # most users may not, and not every system can
        yield
        return
    try:
        yield
    finally:
        # Only root may take back that children start without priority; for a thread without any, it changes nothing.
        os.sched_setscheduler(0, policy | os.SCHED_RESET_ON_FORK, own)
