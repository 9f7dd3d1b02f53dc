"""The progress bar that everything long shows on a terminal or in a notebook."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from yardarm.displays.notebook import NotebookProgress
from yardarm.displays.python import in_notebook

__all__ = ["progress_bar"]


def progress_bar(console: Console, field: str) -> Progress | None:
    """A bar with counts and times, and next to it a task's `field`; None where nobody would see it move."""
    if in_notebook():
        return NotebookProgress(field)
    if not console.is_terminal:
        return None
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(f"{{task.fields[{field}]}}"),
        TimeElapsedColumn(),
        TextColumn("elapsed,"),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console,
    )
