"""Results as Markdown, for a README or a model card."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from yardarm.comparison import Comparison, ComparisonEntry, Difference, Pairwise
from yardarm.report.comparison_table import comparison_lines
from yardarm.report.rows import ResultRow, Section, compared_tasks, overall, policy_name, sections
from yardarm.report.stopping import stopping_lines
from yardarm.report.table import interval_text, p_text, percent, points
from yardarm.report.unfinished import about_unfinished
from yardarm.results import (
    Counts,
    SessionRecord,
    StoredResult,
    Uncertainty,
    about_mixed_versions,
    simulator_packages,
    versions_in,
)
from yardarm.stats import Interval, TaskCounts

__all__ = ["escaped", "markdown"]

# Underscores within words need no escape in Markdown, and task names are full of them.
SPECIAL = re.compile(r"[\\`*\[\]<>|~$&#]|(?<![^\W_])_|_(?![^\W_])")
PER_TASK = {
    "wilson": "Wilson",
    "clopper_pearson": "Clopper–Pearson (exact)",
    "anytime": "confidence sequences (valid at any stopping time)",
}
OVER_TASKS = {
    "pooled": "over several tasks, pooled over all episodes",
    "stratified": "over several tasks, stratified (for exactly these tasks)",
    "clustered": "over several tasks, clustered (for new tasks like these)",
}
Row = tuple[str, ...]


def markdown(runs: Sequence[StoredResult], comparison: Comparison | None) -> str:
    """One run's results, or the comparison of several, followed by a line about each run."""
    if comparison is None:
        return "\n\n".join("\n\n".join(_run(run)) for run in runs)
    names = {str(run.folder.path.absolute()): _compared_name(run, comparison) for run in runs}
    about = "\n".join(f"- {_about_compared(run, name)}" for run, name in zip(runs, names.values(), strict=True))
    return "\n\n".join([*_comparison(comparison, names), "The runs:", about])


def escaped(text: str) -> str:
    """Text escaped for Markdown, also for its tables."""
    return SPECIAL.sub(lambda found: f"\\{found[0]}", " ".join(text.split()))


def _run(run: StoredResult) -> Iterator[str]:
    result = run.result
    yield _headline(run)
    if caution := about_unfinished(run):
        yield _bold_start(caution)
    if mixed := about_mixed_versions(result.mixed_versions):
        yield _bold_start(mixed)
    yield _tasks_table(sections(result), overall(result), result.uncertainty)
    if result.stopping is not None:
        yield "\n".join(f"- {escaped(line)}" for line in stopping_lines(result.stopping))
    if result.warnings:
        yield "\n".join(f"- Warning: {escaped(warning)}" for warning in result.warnings)
    yield f"{_intervals(result.uncertainty)} {_episodes(run)} {_versions(run)}"


def _headline(run: StoredResult) -> str:
    whole, groups = overall(run.result), list(run.result.groups())
    worlds = ", ".join(dict.fromkeys(task.task.benchmark for task in run.result.tasks))
    parts = f" ({', '.join(groups)})" if len(groups) <= 4 else f" ({len(groups)} groups)"
    confidence = _percent(whole.interval)
    return (
        f"**{escaped(policy_name(run))}** on {escaped(worlds + parts)}: **{percent(whole.counts.rate)}** success, "
        f"{whole.fraction} episodes, {confidence} interval {interval_text(whole.interval)}"
        + (f", {_errors_text(whole.counts)}" if whole.counts.errors else "")
    )


def _errors_text(counts: Counts) -> str:
    failed, succeeded = percent(counts.errors_failed.rate), percent(counts.errors_succeeded.rate)
    return f"{counts.errors} error(s) not counted ({failed} if they had failed, {succeeded} if they had succeeded)"


def _bold_start(text: str) -> str:
    beginning, bracket, rest = text.partition(" (")
    return f"**{beginning}**{bracket}{rest}"


def _tasks_table(parts: Sequence[Section], whole: ResultRow, uncertainty: Uncertainty) -> str:
    grouped = len(parts) > 1 and any(part.whole is not None for part in parts)
    errors = bool(whole.counts.errors)
    header: Row = ("task", "success", "k/n", f"{_percent(whole.interval)} interval", "mean steps")
    header += ("errors", "if they had failed", "if they had succeeded") if errors else ()
    rows = []
    for part in parts:
        own = [_result_row(escaped(row.name), row, uncertainty, errors) for row in part.tasks]
        if part.whole is not None:
            own.append(_bold(_result_row("whole group", part.whole, uncertainty, errors)))
        rows += [(escaped(part.name), *row) for row in own] if grouped else own
    if sum(len(part.tasks) for part in parts) > 1:
        row = _bold(_result_row("all", whole, uncertainty, errors))
        rows.append(("", *row) if grouped else row)
    return _table(("group", *header) if grouped else header, rows, words=2 if grouped else 1)


def _result_row(name: str, row: ResultRow, uncertainty: Uncertainty, errors: bool) -> Row:
    counts, steps = row.counts, row.mean_steps
    cells = (name, percent(counts.rate), row.fraction, _known(counts, row.interval), _steps(steps))
    if not errors:
        return cells
    readings = (counts.errors_failed, counts.errors_succeeded) if counts.errors else ()
    texts = [f"{percent(own.rate)} ({interval_text(uncertainty.of_task(own.of_task))})" for own in readings]
    return (*cells, str(counts.errors or ""), *(texts or ("", "")))


def _steps(mean: float | None) -> str:
    return "-" if mean is None else f"{mean:.0f}" if mean >= 10 else f"{mean:.2f}"


def _known(counts: Counts, interval: Interval) -> str:
    return interval_text(interval) if counts.episodes else "-"


def _comparison(comparison: Comparison, names: Mapping[str, str]) -> Iterator[str]:
    yield _entries_table(comparison)
    if not comparison.pairs:
        yield "These are training seeds of one method."
    elif len(comparison.pairs) == 1:
        yield _differences_table(comparison.pairs[0], comparison)
    else:
        yield _pairs_table(comparison)
    if lines := [_without_paths(line, names) for line in comparison_lines(comparison)]:
        yield "\n".join(f"- {escaped(line)}" for line in lines)


def _without_paths(line: str, names: Mapping[str, str]) -> str:
    """Replace folders of this machine, which do not belong in public, with the runs' names."""
    for path in sorted(names, key=len, reverse=True):  # one folder may contain another
        line = line.replace(path, names[path])
    return line


def _entries_table(comparison: Comparison) -> str:
    several, seeds = len(comparison.entries) > 2, any(entry.seeds for entry in comparison.entries)
    header: Row = ("run", "success", "k/n", f"{100 * comparison.confidence:.4g}% interval")
    header += (("letters",) if several else ()) + (("training seeds",) if seeds else ())
    rows = []
    for label, entry in zip(_labels(comparison), comparison.entries, strict=True):
        row = (f"{label}{escaped(entry.name)}", percent(entry.counts.rate), *_counted(entry))
        rows.append(row + ((entry.letters,) if several else ()) + ((_seeds(entry),) if seeds else ()))
    return _table(header, rows)


def _labels(comparison: Comparison) -> list[str]:
    """A and B for two runs, as the verdict calls them; none for more, whose letters mean something else."""
    return ["A: ", "B: "] if len(comparison.entries) == 2 else ["" for _ in comparison.entries]


def _counted(entry: ComparisonEntry) -> Row:
    return f"{entry.counts.successes}/{entry.counts.episodes}", _known(entry.counts, entry.interval)


def _seeds(entry: ComparisonEntry) -> str:
    spread = entry.seeds
    return "1" if spread is None else f"{len(entry.runs)} ({percent(spread.lowest)} – {percent(spread.highest)})"


def _differences_table(pair: Pairwise, comparison: Comparison) -> str:
    several, paired = len(pair.tasks) > 1, pair.overall.counts is not None
    header: Row = ("task", "A", "B", "A − B", f"{100 * comparison.confidence:.4g}% interval", "p")
    header += ("p (Holm)",) if several else ()
    header += ("only A", "only B", "pairs") if paired else ()
    names = compared_tasks(pair)
    rows = [_difference_row(escaped(names[row.task]), row, several) for row in pair.tasks]
    if several:
        rows.append(_bold(_difference_row("all", pair.overall, several, adjusted="")))
    return _table(header, rows)


def _difference_row(name: str, row: Difference, several: bool, adjusted: str | None = None) -> Row:
    cells: Row = (name, _rate(row.a), _rate(row.b), points(row.difference), _ends(row.interval), p_text(row.p_value))
    if several:
        cells += (p_text(row.p_value if row.p_adjusted is None else row.p_adjusted) if adjusted is None else adjusted,)
    counts = row.counts
    return cells if counts is None else (*cells, str(counts.only_a), str(counts.only_b), str(counts.pairs))


def _pairs_table(comparison: Comparison) -> str:
    header: Row = ("A", "B", "A − B", f"{100 * comparison.confidence:.4g}% interval", "p (Holm)", "test")
    paired = any(pair.overall.counts for pair in comparison.pairs)
    header += ("only A", "only B", "pairs") if paired else ()
    rows = []
    for pair in comparison.pairs:
        row, counts = pair.overall, pair.overall.counts
        names, p_value = (escaped(pair.a), escaped(pair.b)), row.p_value if row.p_adjusted is None else row.p_adjusted
        cells: Row = (*names, points(row.difference), _ends(row.interval), p_text(p_value), pair.method)
        own = (str(counts.only_a), str(counts.only_b), str(counts.pairs)) if counts else ("-", "-", "-")
        rows.append(cells + own if paired else cells)
    return _table(header, rows, words=2)


def _rate(counts: TaskCounts) -> str:
    return percent(counts.successes / counts.trials) if counts.trials else "-"


def _ends(interval: Interval) -> str:
    return f"{points(interval.low)} … {points(interval.high)}"


def _compared_name(run: StoredResult, comparison: Comparison) -> str:
    """The run's name in the comparison: the shortest end of its path that is unique."""
    path = run.folder.path.absolute()
    names = [name for entry in comparison.entries for name in entry.runs if f"{path}".endswith(f"/{name}")]
    return max(names, key=len, default=path.name)


def _about_compared(run: StoredResult, name: str) -> str:
    """A line about a compared run: its policy, cautions, episodes and versions."""
    texts = [about_unfinished(run), about_mixed_versions(run.result.mixed_versions)]
    cautions = "".join(f" {_bold_start(text)}" for text in texts if text)
    return f"**{escaped(name)}**: {escaped(policy_name(run))}.{cautions} {_episodes(run)} {_versions(run)}"


def _intervals(uncertainty: Uncertainty) -> str:
    text = f"Intervals ({100 * uncertainty.confidence:.4g}%): {PER_TASK[uncertainty.per_task]}"
    return f"{text}; {OVER_TASKS[uncertainty.over_tasks]}."


def _episodes(run: StoredResult) -> str:
    most = "up to " if run.result.stopping is not None else ""
    tasks, seed = len(run.result.by_task()), run.manifest.plan.seed
    part = f"Shard {run.result.shard} of " if run.result.shard else ""
    return f"{part}{tasks} task{'s' * (tasks > 1)}, {most}{run.manifest.n_episodes} episodes each, seed {seed}."


def _versions(run: StoredResult) -> str:
    """The versions of Yardarm and the simulators, in all sessions of the run."""
    sessions = run.manifest.sessions
    packages = simulator_packages(task.task.benchmark for task in run.result.tasks)
    found = [f"{name} {own}" for name in packages if (own := _version(sessions, name))]
    own = _version(sessions, "yardarm") or "(unknown version)"
    return f"Made with Yardarm {own}" + (f" ({', '.join(found)})." if found else ".")


def _version(sessions: Sequence[SessionRecord], package: str) -> str:
    """A package's version, or several, if the run was resumed after an update."""
    return " and ".join(dict.fromkeys(own for session in sessions for own in versions_in(session, package)))


def _percent(interval: Interval) -> str:
    return f"{100 * interval.confidence:.4g}%"


def _bold(row: Row) -> Row:
    return tuple(f"**{cell}**" if cell else "" for cell in row)


def _table(header: Row, rows: Sequence[Row], words: int = 1) -> str:
    """A Markdown table; the first `words` columns are text, the rest numbers."""
    rule = [":---"] * words + ["---:"] * (len(header) - words)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *rows))
