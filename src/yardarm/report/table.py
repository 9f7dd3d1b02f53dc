"""The results table: drawn on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table

from yardarm.results import Counts, EpisodeRecord, RunResult

__all__ = ["print_results"]

HEADER = ("group", "task", "success", "k/n", "95% interval", "mean steps", "errors")
SUMMARIES = ("(group)", "(all)")


def print_results(result: RunResult, console: Console) -> None:
    """Print one row per task, per group of several tasks, and overall: rate, k/n, interval."""
    rows = list(_rows(result))
    if console.is_terminal:
        console.print(_drawn(rows))
    else:
        for line in _aligned([HEADER, *rows]):
            console.print(line, soft_wrap=True)


def _drawn(rows: list[tuple[str, ...]]) -> Table:
    table = Table(*HEADER, header_style="bold")
    for column in table.columns[2:]:
        column.justify = "right"
    for row in rows:
        table.add_row(*row, style="bold" if row[1] in SUMMARIES else "", end_section=row[1] in SUMMARIES)
    return table


def _aligned(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _rows(result: RunResult) -> Iterator[tuple[str, ...]]:
    for group, tasks in result.groups().items():
        for task in tasks:
            yield _row(group, task.task.name, task.episodes)
        if len(tasks) > 1:
            yield _row(group, "(group)", [record for task in tasks for record in task.episodes])
    yield _row("", "(all)", result.episodes)


def _row(group: str, task: str, records: tuple[EpisodeRecord, ...] | list[EpisodeRecord]) -> tuple[str, ...]:
    counts = Counts.of(records)
    steps = [record.steps for record in records if record.status != "error"]
    interval = counts.interval
    return (
        group,
        task,
        "-" if counts.rate is None else f"{counts.rate:.1%}",
        f"{counts.successes}/{counts.episodes}",
        f"{interval.low:.1%} – {interval.high:.1%}",
        f"{sum(steps) / len(steps):.0f}" if steps else "-",
        str(counts.errors) if counts.errors else "",
    )
