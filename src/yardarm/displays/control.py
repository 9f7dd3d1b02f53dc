"""A table of an arm that is moved: drawn by a thread, because a slow terminal must not hold up the loop."""

from __future__ import annotations

import contextlib
import logging
import shutil
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator

from yardarm.control import LiveState

__all__ = ["live_table", "table_lines"]

EVERY_S = 0.1
# How long the end of the loop waits for the terminal.
LAST_LINES_S = 2.0
UP, CLEAR = "\x1b[{}A", "\x1b[J"
UNITS = {"degrees": "°", "range_0_100": " %", "range_m100_100": " %"}


@contextlib.contextmanager
def live_table(state: LiveState) -> Iterator[Callable[[str], None]]:
    """Show a table while the block runs; where nobody looks, show nothing. The block gets what prints a line."""
    if not sys.stdout.isatty():
        yield lambda text: print(text, flush=True)
        return
    table = _Table(state)
    handler = _AboveTable(table)
    logging.getLogger().addHandler(handler)
    try:
        yield table.say
    finally:
        logging.getLogger().removeHandler(handler)
        table.close()


class _Table:
    """Lines that are drawn again and again, in the same place.

        loop ──say──▶ lines ──▶ a thread ──▶ terminal, which may stop for minutes (Ctrl-S, a network that is gone)

    Only the thread writes, and nobody waits for it for long: an arm must be released even if no line can be shown.
    """

    def __init__(self, state: LiveState) -> None:
        self._state, self._shown = state, 0
        self._said: deque[str] = deque()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._draw_until_over, name="table", daemon=True)
        self._thread.start()

    def say(self, text: str) -> None:
        """Print a line above the table, soon."""
        self._said.append(text)

    def close(self) -> None:
        """Draw no more; the table goes, so that what follows stands alone."""
        self._over.set()
        self._thread.join(LAST_LINES_S)

    def _draw_until_over(self) -> None:
        with contextlib.suppress(OSError):  # a terminal that is gone shows nothing
            while not self._over.wait(EVERY_S):
                size = shutil.get_terminal_size()
                self._draw([line[: size.columns - 1] for line in table_lines(self._state)][: size.lines - 1])
            self._draw([])

    def _draw(self, lines: list[str]) -> None:
        """Draw the table anew, below what was said meanwhile."""
        said = [self._said.popleft() for _ in range(len(self._said))]
        back = f"\r{UP.format(self._shown) if self._shown else ''}{CLEAR}"
        sys.stdout.write(back + "".join(f"{line}\n" for line in [*said, *lines]))
        sys.stdout.flush()
        self._shown = len(lines)


class _AboveTable(logging.Handler):
    """Warnings, above the table instead of across it."""

    def __init__(self, table: _Table) -> None:
        super().__init__(logging.WARNING)
        self._table = table

    def emit(self, record: logging.LogRecord) -> None:
        """Print a warning."""
        self._table.say(self.format(record))


def table_lines(state: LiveState) -> list[str]:
    """What the table says now."""
    timing = state.loop.timing
    minutes, seconds = divmod(int(state.elapsed_s), 60)
    counts = f"{timing.late:,} late · {timing.missed:,} missed"
    lines = [f"{minutes}:{seconds:02d}  {state.rate:.1f} of {state.loop.fps:g} Hz · {counts}   (Ctrl-C to stop)"]
    lines += state.note.splitlines()
    joints = state.joints()
    if joints:
        width = max(len(joint.name) for joint in joints)
        lines.append(f"{'joint':<{width}}  {'asked':>9}  {'is at':>9}  {'load':>5}")
    for joint in joints:
        unit = UNITS.get(joint.unit, "")
        asked = "–" if joint.asked is None else f"{_rounded(joint.asked)}{unit}"
        load = "–" if joint.load is None else f"{joint.load:.0f} %"
        position = f"{_rounded(joint.position)}{unit}"
        lines.append(f"{joint.name:<{width}}  {asked:>9}  {position:>9}  {load:>5}")
    if ages := state.ages():
        lines.append("cameras: " + " · ".join(f"{name} {1000 * age:.0f} ms old" for name, age in ages.items()))
    if state.loop.trouble:
        lines.append(f"HOLDING STILL: {state.loop.trouble}")
    return lines


def _rounded(value: float) -> str:
    return f"{round(value, 1) + 0.0:.1f}"  # there is no −0.0
