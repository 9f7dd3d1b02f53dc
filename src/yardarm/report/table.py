"""The results table: drawn on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console, RenderableType
from rich.table import Table

from yardarm.results import Counts, RunResult

__all__ = ["results_table"]


def results_table(result: RunResult, console: Console) -> Iterator[RenderableType]:
    """One row per task, per group of several tasks, and overall: rate, k/n, interval."""
    rows = list(_rows(result))
    if not console.is_terminal:
        yield from ("\t".join(row) for row in rows)
        return
    table = Table("group", "task", "success", "k/n", "95% interval", "mean steps", "errors", header_style="bold")
    for column in table.columns[2:]:
        column.justify = "right"
    for row in rows:
        table.add_row(*row, style="bold" if row[1] in ("(group)", "(all)") else "", end_section=row[1] == "(group)")
    yield table


def _rows(result: RunResult) -> Iterator[tuple[str, ...]]:
    for group, tasks in result.groups().items():
        for task in tasks:
            yield _row(group, task.task.name, task.counts, [record.steps for record in task.episodes])
        if len(tasks) > 1:
            records = [record for task in tasks for record in task.episodes]
            yield _row(group, "(group)", Counts.of(records), [record.steps for record in records])
    yield _row("", "(all)", result.counts, [record.steps for record in result.episodes])


def _row(group: str, task: str, counts: Counts, steps: list[int]) -> tuple[str, ...]:
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
