"""What must be finished before Ctrl-C or SIGTERM are obeyed."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

__all__ = ["uninterrupted"]

log = logging.getLogger(__name__)

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Finish the block first: whoever presses Ctrl-C twice must not stop the release of an arm half-way.

    In other threads than the main one there is nothing to do: signals do not reach them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {number: signal.getsignal(number) for number in SIGNALS}
    # None: its handler is not Python's, and could not be put back.
    own = {number: handler for number, handler in before.items() if handler is not None}
    try:
        for number in own:
            signal.signal(number, lambda number, frame: came.append(number))
        yield
    except Exception as error:
        if came:
            log.warning("%s", error)  # the signal takes its place
        raise
    finally:
        with ExitStack() as put_back:  # all of them, even if a signal comes after the first
            for number, handler in own.items():
                put_back.callback(signal.signal, number, handler)
        for late in dict.fromkeys(came):
            signal.raise_signal(late)
