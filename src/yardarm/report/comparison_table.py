"""The comparison of runs as a sheet: tables, verdicts, notes."""

from __future__ import annotations

import math
from collections.abc import Iterator

from yardarm.comparison import Comparison, ComparisonEntry, Difference, pairs_needed
from yardarm.report.sheet import Sheet, Table
from yardarm.report.table import Row, drawn_difference, drawn_rate, p_text, percent, points
from yardarm.stats import TaskCounts

__all__ = ["comparison_lines", "comparison_sheet", "notes", "verdicts"]

SMALLEST_GAP = 0.02
# Above this (about eight runs) only the letters are shown.
MOST_PAIRS = 28
TESTS = {
    "mcnemar": "exact McNemar test on pairs, Bonett–Price interval",
    "boschloo": "Boschloo's exact test, Newcombe's interval",
    "training seeds": "t-test over training seeds and episodes",
}


def comparison_sheet(comparison: Comparison) -> Sheet:
    """Two runs task by task, or several pair by pair with letters."""
    blocks: list[Table | str] = [_entries(comparison), ""]
    if len(comparison.pairs) == 1:
        blocks += [*_tasks(comparison), ""]
    elif 0 < len(comparison.pairs) <= MOST_PAIRS:
        blocks += [_pairs(comparison), ""]
    return Sheet((*blocks, *comparison_lines(comparison)))


def comparison_lines(comparison: Comparison) -> list[str]:
    """The verdicts, then the notes."""
    return [*verdicts(comparison), *notes(comparison)]


def _entries(comparison: Comparison) -> Table:
    several = len(comparison.entries) > 2
    seeds = any(entry.seeds for entry in comparison.entries)
    header: Row = ("", "run", "success", "k/n", f"{100 * comparison.confidence:.4g}% interval")
    rows = []
    for number, entry in enumerate(comparison.entries):
        row: Row = (
            _label(number),
            entry.name,
            percent(entry.counts.rate),
            _fraction(entry),
            drawn_rate(entry.counts.rate, entry.interval),
        )
        row += (entry.letters,) if several else ()
        rows.append(row + ((_spread(entry),) if seeds else ()))
    header += (("letters",) if several else ()) + (("between training seeds",) if seeds else ())
    return Table(header, rows, left=2)


def _tasks(comparison: Comparison) -> Iterator[Table | str]:
    (pair,) = comparison.pairs
    paired = pair.overall.counts is not None
    header: Row = ("task", "A", "B", "A − B", f"{100 * comparison.confidence:.4g}% interval", "p")
    several = len(pair.tasks) > 1
    rows = [_difference_row(row, paired, comparison.alpha if several else 0.0) for row in pair.tasks]
    if len(rows) > 1:
        rows.append(_difference_row(pair.overall, paired, comparison.alpha, "(all)"))
    strong = [len(rows) - 1] if len(rows) > 1 else []
    yield Table((*header, "only A", "only B", "pairs") if paired else header, rows, strong=strong)
    if any(row.p_adjusted is not None and row.p_adjusted < comparison.alpha for row in pair.tasks) and len(rows) > 1:
        yield "* significant after correcting for the number of tasks (Holm)"


def _difference_row(row: Difference, paired: bool, alpha: float, label: str | None = None) -> Row:
    significant = label is None and row.p_adjusted is not None and row.p_adjusted < alpha
    cells = (
        label or row.task.partition("/")[2] or row.task,
        _rate(row.a),
        _rate(row.b),
        points(row.difference),
        drawn_difference(row.difference, row.interval),
        p_text(row.p_value) + ("*" if significant else ""),
    )
    if not paired:
        return cells
    counts = row.counts
    assert counts is not None
    return (*cells, str(counts.only_a), str(counts.only_b), str(counts.pairs))


def _pairs(comparison: Comparison) -> Table:
    labels = {entry.name: _label(number) for number, entry in enumerate(comparison.entries)}
    header: Row = (
        "pair",
        "difference",
        f"{100 * comparison.confidence:.4g}% interval",
        "p (Holm)",
        "test",
        "discordant",
    )
    rows = []
    for pair in comparison.pairs:
        row, counts = pair.overall, pair.overall.counts
        rows.append(
            (
                f"{labels[pair.a]} − {labels[pair.b]}",
                points(row.difference),
                drawn_difference(row.difference, row.interval),
                p_text(row.p_adjusted if row.p_adjusted is not None else row.p_value),
                pair.method,
                f"{counts.only_a} : {counts.only_b} of {counts.pairs}" if counts else "-",
            )
        )
    return Table(header, rows)


def verdicts(comparison: Comparison) -> Iterator[str]:
    """Sentences that say which runs are better, and how certain that is."""
    if not comparison.pairs:
        yield "These are training seeds of one method; add runs of another method to compare it with."
        return
    if len(comparison.pairs) > 1:
        yield (
            "Runs that share a letter do not differ significantly. P-values are corrected for the number of "
            "comparisons (Holm); intervals are not."
        )
        if len(comparison.pairs) > MOST_PAIRS:
            yield f"`yardarm compare … --json` prints all {len(comparison.pairs):,} pairs."
        return
    (pair,) = comparison.pairs
    row, better = pair.overall, pair.better(comparison.alpha)
    labels = {pair.a: "A", pair.b: "B"}
    ends = f"{points(row.interval.low)} to {points(row.interval.high)}"
    interval = f"{100 * comparison.confidence:.4g}% interval {ends}"
    found = f"A − B = {points(row.difference)} points ({interval}), {_p_value(row.p_value)}"
    if math.isnan(row.difference):
        yield "No comparison is possible: no episode finished in both runs."
        return
    if better:
        other = "B" if labels[better] == "A" else "A"
        yield f"{labels[better]} is better than {other}: {found}; {TESTS[pair.method]}."
    else:
        yield f"No significant difference: {found}; {TESTS[pair.method]}. That does not show that the two are equal."
    if row.counts and row.counts.correlation is not None:
        yield f"The correlation of their outcomes is {row.counts.correlation:.2f} (for `yardarm plan`)."
    if (better is None) != (0 in row.interval):
        yield "The interval is approximate and disagrees here with the test, which is exact: trust the test."
    if better:
        return
    gap = abs(row.difference) if abs(row.difference) >= SMALLEST_GAP else 0.05
    needed = pairs_needed(gap, pair, comparison.confidence)
    if needed and row.counts and needed > row.counts.pairs:
        have = row.counts.pairs
        yield f"To detect a gap of {100 * gap:.0f} points (80% power) you need about {needed} pairs; there are {have}."


def _p_value(p_value: float) -> str:
    text = p_text(p_value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def notes(comparison: Comparison) -> Iterator[str]:
    """Sentences that a reader needs to judge the numbers: errors, assumptions, what is missing."""
    for pair in comparison.pairs:
        if pair.errors:
            own = pair.errors
            yield (
                f"Errors: {own.errors_a} in {pair.a}, {own.errors_b} in {pair.b}, not counted above. If all of them "
                f"counted against {pair.a}, the difference would be {points(own.lowest)} points; if all counted in its "
                f"favour, {points(own.highest)}."
            )
    own_notes = [*comparison.notes, *(note for pair in comparison.pairs for note in pair.notes)]
    yield from (f"Note: {note}." for note in dict.fromkeys(own_notes))


def _spread(entry: ComparisonEntry) -> str:
    spread = entry.seeds
    if spread is None:
        return "1 seed"
    return (
        f"{len(entry.runs)} seeds, {percent(spread.lowest)} – {percent(spread.highest)}, standard deviation "
        f"{100 * spread.deviation:.1f} points ({100 * spread.by_chance:.1f} expected from episodes alone)"
    )


def _fraction(entry: ComparisonEntry) -> str:
    return f"{entry.counts.successes}/{entry.counts.episodes}"


def _rate(counts: TaskCounts) -> str:
    return percent(counts.successes / counts.trials) if counts.trials else "-"


def _label(number: int) -> str:
    return chr(ord("A") + number) if number < 26 else f"#{number + 1}"
