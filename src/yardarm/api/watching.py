"""Who hears of progress: the caller's own listener, a display where somebody looks, or nobody."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from yardarm.config import fitted
from yardarm.displays import is_watched
from yardarm.errors import UsageError
from yardarm.evaluation import EvaluationListener

__all__ = ["evaluation_listener", "interruption", "shows_progress"]


def shows_progress(progress: bool | None, listener: object | None = None) -> bool:
    """Whether to show progress: as the caller says, or else on a terminal and in a notebook."""
    wish = fitted("progress", bool | None, progress)
    if wish and listener is not None:
        raise UsageError("progress=True and a listener exclude each other: give one of them")
    return listener is None and (is_watched() if wish is None else bool(wish))


@contextlib.contextmanager
def evaluation_listener(
    progress: bool | None, listener: EvaluationListener | None
) -> Iterator[EvaluationListener | None]:
    """Who hears of an evaluation."""
    if not shows_progress(progress, listener):
        yield listener
        return
    from yardarm.displays import open_console, open_display

    with open_display(open_console()) as display:
        display.brief = True
        yield display


@contextlib.contextmanager
def interruption(hint: str) -> Iterator[None]:
    """Let an interruption say how to go on: its last line is what a notebook shows."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(hint) from None
