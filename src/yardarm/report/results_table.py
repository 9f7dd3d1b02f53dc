"""The results of a run as a sheet: a table of tasks, and what to know about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from yardarm.report.detectable_difference import detectable_difference
from yardarm.report.sheet import Sheet, Table
from yardarm.report.stopping import stopping_lines
from yardarm.report.table import Row, drawn_rate, interval_text, percent
from yardarm.results import Counts, EpisodeRecord, RunResult, Uncertainty, about_mixed_versions

__all__ = ["result_notes", "results_sheet"]

SUMMARIES = ("(group)", "(all)")
ERRORS = ("errors", "if they had failed", "if they had succeeded")


def results_sheet(result: RunResult) -> Sheet:
    """A row per task, per group of several tasks, and overall; then the notes."""
    confidence = f"{100 * result.uncertainty.confidence:.4g}%"
    header: Row = ("group", "task", "success", "k/n", f"{confidence} interval", "mean steps", "mean return")
    rows = list(_rows(result))
    if result.counts.errors:
        header = (*header, *ERRORS)
    else:
        rows = [row[: len(header)] for row in rows]
    strong = [number for number, row in enumerate(rows) if row[1] in SUMMARIES]
    if all(row[0] in ("", row[1]) for row in rows):  # every task is its own group
        header, rows = header[1:], [row[1:] for row in rows]
    table = Table(header, rows, left=header.index("success"), strong=strong)
    mixed = about_mixed_versions(result.mixed_versions)
    return Sheet((table, *([mixed] if mixed else []), *result_notes(result)))


def result_notes(result: RunResult) -> Iterator[str]:
    """Sentences below the numbers: how an early stop was decided, or which difference the episodes can detect."""
    if result.shard is not None:
        number, count = result.shard.split("/")
        yield f"This is shard {number} of {count} of an evaluation; `yardarm merge` merges the shards."
    if result.uncertainty.over_tasks != "pooled":
        meaning = {"stratified": "they hold for exactly these tasks", "clustered": "they hold for new tasks like these"}
        over = result.uncertainty.over_tasks
        yield f"Intervals over several tasks are {over}: {meaning[over]}."
    if result.stopping is not None:
        yield ""
        yield from stopping_lines(result.stopping)
    elif line := detectable_difference(result.counts, result.uncertainty.confidence):
        yield f"\n{line}"


def _rows(result: RunResult) -> Iterator[Row]:
    for group, tasks in result.groups().items():
        for task in tasks:
            yield _row(group, task.task.name, [task.episodes], result.uncertainty)
        if len(tasks) > 1:
            yield _row(group, "(group)", [task.episodes for task in tasks], result.uncertainty)
    yield _row("", "(all)", result.by_task(), result.uncertainty)


def _row(group: str, name: str, tasks: Sequence[Sequence[EpisodeRecord]], uncertainty: Uncertainty) -> Row:
    records = [record for task in tasks for record in task]
    counts = Counts.of(records)
    by_task = [Counts.of(task).of_task for task in tasks]
    interval = uncertainty.of_tasks(by_task) if name in SUMMARIES else uncertainty.of_task(counts.of_task)
    ended = [[record for record in task if record.status != "error"] for task in tasks]
    return (
        group,
        name,
        percent(counts.rate),
        f"{counts.successes}/{counts.episodes}",
        drawn_rate(counts.rate, interval),
        _mean([[record.steps for record in task] for task in ended], uncertainty),
        _mean([[record.sum_reward for record in task] for task in ended], uncertainty),
        *_error_cells(counts, uncertainty),
    )


def _error_cells(counts: Counts, uncertainty: Uncertainty) -> Row:
    if not counts.errors:
        return ("", "", "")
    readings = (counts.errors_failed, counts.errors_succeeded)
    texts = (f"{percent(own.rate)} ({interval_text(uncertainty.of_task(own.of_task))})" for own in readings)
    return (str(counts.errors), *texts)


def _mean(tasks: Sequence[Sequence[float]], uncertainty: Uncertainty) -> str:
    values = [value for task in tasks for value in task]
    if not values:
        return "-"
    mean, interval = sum(values) / len(values), uncertainty.of_mean(tasks)
    digits = 0 if abs(mean) >= 10 else 2
    return f"{mean:.{digits}f}" + (f" ({interval.low:.{digits}f} – {interval.high:.{digits}f})" if interval else "")
