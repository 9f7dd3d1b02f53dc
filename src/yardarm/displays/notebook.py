"""A progress bar for notebooks: HTML that is drawn again in place. It needs no widgets, and stays in the saved file."""

from __future__ import annotations

import html
import time
from typing import Any

from rich.progress import Progress, Task, TaskID

__all__ = ["NotebookProgress"]

DRAW_EVERY_S = 0.2


class NotebookProgress(Progress):
    """Rich counts and estimates; what it would draw on a terminal is shown as HTML."""

    def __init__(self, field: str) -> None:
        super().__init__(disable=True)
        self._field = field
        self._handle: Any = None
        self._drawn = 0.0

    def add_task(self, *args: Any, **fields: Any) -> TaskID:
        """Show another bar."""
        task = super().add_task(*args, **fields)
        self._draw()
        return task

    def update(self, *args: Any, **changes: Any) -> None:
        """Move a bar."""
        super().update(*args, **changes)
        self._draw_sometimes()

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        """Move a bar a little."""
        super().advance(task_id, advance)
        self._draw_sometimes()

    def stop(self) -> None:
        """Leave the bars as they are now."""
        super().stop()
        if self._handle is not None:
            self._draw()

    def _draw_sometimes(self) -> None:
        if time.monotonic() - self._drawn > DRAW_EVERY_S:
            self._draw()

    def _draw(self) -> None:
        from IPython.display import display

        self._drawn = time.monotonic()
        bars = _Bars([_bar(task, self._field) for task in self.tasks])
        if self._handle is None:
            self._handle = display(bars, display_id=True)
        else:
            self._handle.update(bars)


class _Bars:
    """What a notebook shows, and what is shown of it where there is no HTML."""

    def __init__(self, bars: list[tuple[str, str]]) -> None:
        self._bars = bars

    def __repr__(self) -> str:
        return "\n".join(text for _, text in self._bars)

    def _repr_html_(self) -> str:
        lines = (
            f'<div style="font-variant-numeric: tabular-nums">{bar} {html.escape(text)}</div>'
            for bar, text in self._bars
        )
        return "".join(lines)


def _bar(task: Task, field: str) -> tuple[str, str]:
    """A bar as HTML, and the words beside it."""
    style = 'style="width: 16em; vertical-align: middle; accent-color: #3b6fd4"'
    if task.total is None:
        return f"<progress {style}></progress>", f"{task.description} …"
    left = "" if task.finished or task.time_remaining is None else f", {_clock(task.time_remaining)} left"
    parts = [f"{task.completed:,.0f}/{task.total:,.0f} {task.description}", str(task.fields.get(field) or "")]
    text = " · ".join(part for part in (*parts, f"{_clock(task.elapsed or 0)} elapsed{left}") if part)
    return f'<progress {style} max="{task.total:.0f}" value="{task.completed:.0f}"></progress>', text


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
