"""Writes ``report.html``, and the comparison page."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from yardarm.comparison import Comparison, LerobotAssumptions, RunOutcomes, compare, read_runs
from yardarm.errors import UsageError
from yardarm.files import write_output
from yardarm.pages.comparison_data import comparison_data
from yardarm.pages.html import standalone_page
from yardarm.pages.run_data import run_data
from yardarm.report import percent
from yardarm.results import RunFolder, SeveralFolder, StoredResult, read_result

__all__ = ["opponent_data", "write_comparison_page", "write_report", "write_several_report"]


def write_report(folder: RunFolder, path: Path | None = None) -> Path:
    """Write the report of a run as it is on disk now, including the comparison with its opponent if it has one."""
    stored = read_result(folder)
    name = folder.path.resolve().name
    run = run_data(stored, name)
    target = path or folder.report
    run["episodes"]["videos"] = _relative_videos(target.parent, folder, run["episodes"]["videos"])
    run["drawn"] = _embedded(stored, run["pictures"])
    data = {"run": run, "comparison": opponent_data(stored)}
    return _written(target, standalone_page(f"{name} · Yardarm", "report", data, _summary(run)))


def write_comparison_page(comparison: Comparison, runs: Sequence[RunOutcomes], path: Path, title: str = "") -> Path:
    """Write the page that compares several runs."""
    named = title or " · ".join(entry.name for entry in comparison.entries)
    content = {**comparison_data(comparison, runs), "reports": [_report_of(run.path, path.parent) for run in runs]}
    data = {"run": None, "title": title or "Comparison", "comparison": content}
    rates = ", ".join(f"{entry.name} {percent(entry.counts.rate)}" for entry in comparison.entries)
    return _written(path, standalone_page(f"{named} · Yardarm", "report", data, f"Success rates: {rates}."))


def write_several_report(folder: SeveralFolder, path: Path | None = None) -> Path:
    """Write the page of an evaluation of several policies, which compares those that have finished episodes."""
    target = path or folder.whole.report
    begun = folder.begun()
    if not begun:
        raise UsageError(f"{folder.path} has no finished episode yet, so there is nothing to report")
    if len(begun) == 1:
        return write_report(begun[0], target)
    runs = read_runs([run.path for run in begun], allow_unfinished=True)
    title = f"{folder.path.resolve().name}: {len(runs)} policies"
    return write_comparison_page(compare(runs), runs, target, title)


def _report_of(run: Path, place: Path) -> str | None:
    """The path of a run's own report relative to another folder; None if there is no report."""
    report = RunFolder(run).report
    return os.path.relpath(report.absolute(), place.absolute()) if report.exists() else None


def opponent_data(stored: StoredResult, shown: Callable[[Path], bool] = lambda path: True) -> dict[str, Any] | None:
    """The comparison of a run with its opponent, on the episodes so far; None without an opponent."""
    against = stored.result.against
    if against is None:
        return None
    if not shown(against):
        return {"problem": f"This run was compared with {against}, which is outside the viewed folder."}
    try:
        seed = stored.manifest.plan.seed
        assumed = LerobotAssumptions() if seed is None else LerobotAssumptions(seed=seed)
        runs = read_runs([stored.folder.path, against], assumed, allow_unfinished=True)
        data = comparison_data(compare(runs, confidence=stored.result.uncertainty.confidence), runs)
    except UsageError as error:  # the opponent was moved or changed since; the run's own results are still valid
        return {"problem": str(error)}
    if stored.result.stopping is None:
        return data
    # Tests for a fixed number of episodes are not valid for a run that may stop early; its results include the verdict
    # of its own test.
    return {**data, "sequential": True, "verdicts": []}


def _relative_videos(place: Path, folder: RunFolder, videos: Mapping[int, Sequence[str]]) -> dict[int, list[str]]:
    """The paths of videos relative to the page's folder."""
    from_there = Path(os.path.relpath(folder.path.absolute(), place.absolute()))
    return {row: [str(from_there / path) for path in own] for row, own in videos.items()}


def _embedded(stored: StoredResult, rows: Sequence[int]) -> dict[int, str]:
    """Pictures as addresses that hold the whole file, by the rows of their episodes."""
    records = [record for task in stored.result.by_task() for record in task]
    paths = {row: stored.folder.picture(records[row].key) for row in rows}
    return {
        row: f"data:image/jpeg;base64,{base64.b64encode(path.read_bytes()).decode()}" for row, path in paths.items()
    }


def _summary(run: Mapping[str, Any]) -> str:
    score, policy = run["overall"], run["policy_label"]["name"]
    return (
        f"{policy}: {percent(score['rate'])} success, {score['successes']} of {score['episodes']} episodes, "
        f"{100 * run['confidence']:.4g}% interval {percent(score['low'])} – {percent(score['high'])}."
    )


def _written(path: Path, text: str) -> Path:
    write_output(path, text.encode(), "choose another --output")
    return path
