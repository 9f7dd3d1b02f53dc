"""Figures for papers: the success rates of each run, and the differences of a comparison."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from yardarm.comparison import Comparison, ComparisonEntry, Difference
from yardarm.files import write_output
from yardarm.report.forest import ForestPlot, Mark, Scale, rendered
from yardarm.report.rows import ResultRow, compared_tasks, overall, sections
from yardarm.report.table import p_text
from yardarm.results import RunResult, StoredResult

__all__ = ["comparison_plot", "run_plot", "write_figures"]

RATES = (0.0, 0.25, 0.5, 0.75, 1.0)
STEPS = (0.05, 0.1, 0.2, 0.25, 0.5)
MOST_TICKS = 6
# Longer names need several lines; such task names are sentences with underscores.
LONG_NAME = 30
# Short forms of the comparison's own notes.
STOPPED_EARLY = "A run stopped early: its tests and intervals are too optimistic."
NOT_FINISHED = "A run is not finished: episodes that finish first are often successes."
TaskKey = tuple[str, str, str]


def write_figures(runs: Sequence[StoredResult], comparison: Comparison | None, folder: Path) -> list[Path]:
    """Write each figure as PDF and SVG: a forest plot per run, and the differences of a comparison."""
    files = {
        folder / f"{stem}.{ending}": content
        for stem, plot in _plots(runs, comparison)
        for ending, content in rendered(plot).items()
    }
    for path, content in files.items():
        write_output(path, content, "choose another folder")
    return list(files)


def run_plot(result: RunResult) -> ForestPlot:
    """The success rates of one run."""
    return _forest(result, _mean_rates([result]), len(result.episodes) == result.planned or bool(result.stopping))


def comparison_plot(comparison: Comparison) -> ForestPlot:
    """Two runs task by task, or the rates of more than two."""
    return _differences(comparison) if len(comparison.pairs) == 1 else _letters(comparison)


def _plots(runs: Sequence[StoredResult], comparison: Comparison | None) -> Iterator[tuple[str, ForestPlot]]:
    order = _mean_rates([run.result for run in runs])
    for stem, run in zip(_stems(runs), runs, strict=True):
        yield stem, _forest(run.result, order, run.is_finished)
    for stem, plot in _comparison_plots(comparison) if comparison is not None else ():
        yield stem, replace(plot, notes=(*plot.notes, *_cautions(runs)))


def _cautions(runs: Sequence[StoredResult]) -> Iterator[str]:
    if any(run.result.stopping is not None and run.result.stopping.stopped_early for run in runs):
        yield STOPPED_EARLY
    if not all(run.is_finished for run in runs):
        yield NOT_FINISHED


def _comparison_plots(comparison: Comparison) -> Iterator[tuple[str, ForestPlot]]:
    if len(comparison.pairs) == 1:
        yield "comparison", _differences(comparison)
    elif comparison.pairs:
        yield "letters", _letters(comparison)
        yield "pairs", _pairs(comparison)


def _stems(runs: Sequence[StoredResult]) -> list[str]:
    """Unique file names, after the runs' folders."""
    stems: list[str] = []
    for run in runs:
        path = run.folder.path.resolve()
        name = f"{path.parent.name}_{path.name}" if path.name == "against" else path.name
        stem = "forest_" + re.sub(r"[^\w.-]+", "_", name) if len(runs) > 1 else "forest"
        numbered = (f"{stem}_{number}" for number in itertools.count(2))
        stems.append(next(name for name in itertools.chain([stem], numbered) if name not in stems))
    return stems


def _mean_rates(runs: Sequence[RunResult]) -> dict[TaskKey, float]:
    """The mean rate of each task over all runs, so that all figures list the tasks in the same order."""
    rates: dict[TaskKey, list[float]] = {}
    for run in runs:
        for section in sections(run):
            for row in section.tasks:
                rates.setdefault(row.key, []).append(-1.0 if row.counts.rate is None else row.counts.rate)
    return {key: sum(own) / len(own) for key, own in rates.items()}


def _forest(result: RunResult, order: Mapping[TaskKey, float], finished: bool) -> ForestPlot:
    """Groups in the run's order; within each, the tasks from the most to the least often solved."""
    parts, errors = sections(result), bool(result.counts.errors)
    labels = _readable([row.name for part in parts for row in part.tasks])
    marks = []
    for part in parts:
        if part.whole is not None:
            marks.append(_mark(part.whole, part.whole.name, errors, "group"))
        for row in sorted(part.tasks, key=lambda row: -order[row.key]):
            marks.append(_mark(row, labels[row.name], errors, "task", indented=part.whole is not None))
    if len(marks) > 1:
        marks.append(_mark(overall(result), "all tasks", errors, "all"))
    unfinished = f"Not finished: {len(result.episodes)} of {result.planned} episodes."
    return ForestPlot(
        marks,
        _rate_scale(result.uncertainty.confidence),
        headings=("k/n", "errors") if errors else ("k/n",),
        notes=() if finished else (unfinished,),
    )


def _mark(row: ResultRow, label: str, errors: bool, kind: str, indented: bool = False) -> Mark:
    cells = (row.fraction, str(row.counts.errors or "")) if errors else (row.fraction,)
    return Mark(label, row.counts.rate, row.interval, cells, kind, indented=indented)  # type: ignore[arg-type]


def _differences(comparison: Comparison) -> ForestPlot:
    """Two runs task by task, starting with the task that favours A most."""
    (pair,) = comparison.pairs
    several = len(pair.tasks) > 1
    names = compared_tasks(pair)
    labels = _readable(list(names.values()))
    marks = [
        _difference_mark(row, labels[names[row.task]], row.p_adjusted if several else row.p_value, comparison)
        for row in sorted(pair.tasks, key=lambda row: math.inf if math.isnan(row.difference) else -row.difference)
    ]
    if several:
        marks.append(_difference_mark(pair.overall, "all tasks", pair.overall.p_value, comparison, "all"))
    paired = pair.overall.counts is not None
    return ForestPlot(
        marks,
        _difference_scale(marks, f"A − B {_points(comparison)}"),
        headings=("only A : only B" if paired else "A : B",),
        notes=(f"A: {pair.a}", f"B: {pair.b}", *_legend(comparison, " (tasks: Holm)" if several else "")),
    )


def _difference_mark(
    row: Difference, label: str, p_value: float | None, comparison: Comparison, kind: str = "task"
) -> Mark:
    found = p_value is not None and p_value < comparison.alpha
    if row.counts is not None:
        cell = f"{row.counts.only_a} : {row.counts.only_b}"
    else:
        cell = " : ".join(f"{own.successes}/{own.trials}" for own in (row.a, row.b))
    value = None if math.isnan(row.difference) else row.difference
    return Mark(label, value, row.interval, (cell,), kind, filled=found)  # type: ignore[arg-type]


def _letters(comparison: Comparison) -> ForestPlot:
    """More than two runs, the best first, with a column per letter to show which runs share it."""
    entries = sorted(comparison.entries, key=lambda entry: -(entry.counts.rate or 0.0))
    alphabet = sorted({letter for entry in entries for letter in entry.letters})
    marks = [_entry_mark(entry, alphabet) for entry in entries]
    return ForestPlot(marks, _rate_scale(comparison.confidence), ("k/n", *("" for _ in alphabet)))


def _entry_mark(entry: ComparisonEntry, alphabet: Sequence[str]) -> Mark:
    own = tuple(letter if letter in entry.letters else "" for letter in alphabet)
    fraction = f"{entry.counts.successes}/{entry.counts.episodes}"
    return Mark(entry.name, entry.counts.rate, entry.interval, (fraction, *own))


def _pairs(comparison: Comparison) -> ForestPlot:
    """Every pair of runs."""
    marks = []
    for pair in comparison.pairs:
        row = pair.overall
        value = None if math.isnan(row.difference) else row.difference
        p_value = row.p_value if row.p_adjusted is None else row.p_adjusted
        found = pair.better(comparison.alpha) is not None
        together = len(pair.a) + len(pair.b) <= LONG_NAME
        label = f"{pair.a} − {pair.b}" if together else f"{pair.a}\n− {pair.b}"
        marks.append(Mark(label, value, row.interval, (p_text(p_value),), filled=found))
    scale = _difference_scale(marks, f"difference {_points(comparison)}")
    return ForestPlot(marks, scale, ("p (Holm)",), _legend(comparison, " (Holm)"))


def _rate_scale(confidence: float) -> Scale:
    return Scale(0.0, 1.0, RATES, f"success rate (%), {_percent(confidence)} interval")


def _difference_scale(marks: Sequence[Mark], label: str) -> Scale:
    """Wide enough for all intervals and for the line of no difference."""
    known = [mark.interval for mark in marks if mark.value is not None]
    low, high = min([0.0, *(own.low for own in known)]), max([0.0, *(own.high for own in known)])
    step = next((step for step in STEPS if (high - low) / step <= MOST_TICKS - 2), STEPS[-1])
    first, last = math.floor(low / step + 1e-9), max(1, math.ceil(high / step - 1e-9))
    ticks = tuple(step * number for number in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], ticks, label, line_at=0.0)


def _legend(comparison: Comparison, adjustment: str) -> tuple[str, str]:
    return f"● p < {comparison.alpha:.3g}{adjustment}", "○ not significant"


def _points(comparison: Comparison) -> str:
    return f"(points, {_percent(comparison.confidence)} interval)"


def _percent(confidence: float) -> str:
    return f"{100 * confidence:.4g}%"


def _readable(names: Sequence[str]) -> dict[str, str]:
    """Labels for names: without underscores if some of the names are sentences."""
    sentences = any(len(name) > LONG_NAME for name in names)
    return {name: name.replace("_", " ").strip() if sentences else name for name in names}
