"""Shows the results of evaluating several policies."""

from __future__ import annotations

import shlex
import sys

from rich.console import Console

from yardarm.comparison import compare, read_runs
from yardarm.evaluation import SeveralResults
from yardarm.report import comparison_sheet, results_sheet
from yardarm.results import SeveralFolder, read_result

__all__ = ["show_compared", "show_several"]


def show_several(results: SeveralResults, console: Console) -> int:
    """Print how the policies compare, where the results are, and what went wrong; return the exit code."""
    if not results.runs:
        console.print(f"This shard has no episodes: {results.path}", soft_wrap=True)
        return 0
    confidence = next(iter(results.runs.values())).uncertainty.confidence
    show_compared(SeveralFolder(results.path), confidence, console)
    return _show_problems(results)


def show_compared(folder: SeveralFolder, confidence: float, console: Console) -> None:
    """Print how the policies of an evaluation compare, and where the results are."""
    begun = folder.begun()
    if not begun:
        console.print("No episode has finished.")
    elif len(begun) > 1:
        runs = read_runs([run.path for run in begun], allow_unfinished=True)
        comparison_sheet(compare(runs, confidence=confidence)).print(console)
    else:
        results_sheet(read_result(begun[0]).result).print(console)
    console.print(f"\nResults: {folder.path}/policies, one run per policy", soft_wrap=True)
    if folder.whole.report.exists():
        console.print(f"Report: {folder.whole.report}", soft_wrap=True)
    console.print(f"Browse the results: {shlex.join(['yardarm', 'view', str(folder.path)])}", soft_wrap=True)


def _show_problems(results: SeveralResults) -> int:
    for note in results.notes:
        print(f"yardarm: note: {note}", file=sys.stderr)
    for name, run in results.runs.items():
        for warning in run.warnings:
            print(f"yardarm: warning: {name}: {warning}", file=sys.stderr)
    errors = {name: run.counts.errors for name, run in results.runs.items() if run.counts.errors}
    if errors:
        worst = max(errors, key=errors.__getitem__)
        print(
            f"yardarm: {sum(errors.values())} episodes of {len(errors)} policies ended in errors, most of them "
            f"{worst}'s, and count as neither success nor failure; policies/{worst}/episodes.jsonl has their "
            f"tracebacks, and the same command with --output_dir={results.path} retries them",
            file=sys.stderr,
        )
    for name, fault in results.faults.items():
        print(
            f"yardarm: {name} failed: {fault.strip().splitlines()[-1]}; its finished episodes are kept, and "
            f"the same command with --output_dir={results.path} retries it",
            file=sys.stderr,
        )
    return 1 if errors or results.faults else 0
