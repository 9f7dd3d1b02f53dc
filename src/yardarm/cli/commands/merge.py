"""``yardarm merge``: merge the parts of one evaluation."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from yardarm.cli.displays.several_policies import show_compared
from yardarm.cli.flags import listed, read_flags, refuse_unknown, switch, text
from yardarm.errors import UsageError
from yardarm.evaluation import MergedRun, merge_runs
from yardarm.report import print_results
from yardarm.results import RunFolder, RunResult, SeveralFolder

__all__ = ["run"]

MOST_NAMED = 8
FLAGS = [
    ("--output_dir", "", "the merged run's folder; if it already holds the same evaluation, episodes are added to it"),
    (
        "--allow_mixed_versions",
        "",
        "merge parts made with different versions of simulators, torch, …; marks the results permanently",
    ),
]
HELP = f"""\
Merge the parts of an evaluation: the shards in a folder, into that folder (`yardarm merge OUT`), or any runs of the
same policy, tasks, seed and simulators, into a new folder. An episode found in several parts is kept once. The parts
do not change; merging again adds the episodes that have finished since.

usage: yardarm merge RUN … [--output_dir=OUT]

{listed(FLAGS)}

examples:
  yardarm merge outputs/medium                       (its shards, outputs/medium/shard_1_of_8, …)
  yardarm merge here/run there/run --output_dir=both

exit code: 0 complete, 1 episodes are missing or ended in errors, 2 invalid command, or not parts of one evaluation"""


def run(words: Sequence[str]) -> int:
    """Merge and show the results; exit code 1 if episodes are missing or ended in errors."""
    paths, flags = read_flags(words, ("help", "allow_mixed_versions"))
    if "help" in flags or not words:
        print(HELP)
        return 0
    refuse_unknown(flags, [name[2:] for name, _, _ in FLAGS], "merge")
    if not paths:
        raise UsageError(
            "yardarm merge needs the folder of an evaluation's shards, or runs; see `yardarm merge --help`"
        )
    output = text(flags, "output_dir")
    console = Console(highlight=False, markup=False, emoji=False)
    folder = Path(output or paths[0])
    merged = merge_runs(
        [Path(path) for path in paths], Path(output) if output else None, switch(flags, "allow_mixed_versions")
    )
    several = SeveralFolder(folder)
    if not several.index.exists():
        _show(merged[0].result, console)
        return _show_problems(merged[0])
    show_compared(several, merged[0].result.uncertainty.confidence, console)
    code = max(_show_problems(run) for run in merged)
    absent = merged[0].absent_shards
    if absent:
        print(
            f"yardarm: shard {_shortened(absent)} is missing, and so are the episodes that only it played",
            file=sys.stderr,
        )
    return 1 if absent else code


def _show(result: RunResult, console: Console) -> None:
    print_results(result, console)
    console.print(f"\nResults: {result.path}", soft_wrap=True)
    console.print(f"Report: {RunFolder(result.path).report}", soft_wrap=True)


def _show_problems(merged: MergedRun) -> int:
    """Print warnings, errors and what is missing; return the exit code."""
    result = merged.result
    for warning in result.warnings:
        print(f"yardarm: warning: {warning}", file=sys.stderr)
    lacking = []
    if merged.missing:
        shards = f" (no shard {_shortened(merged.absent_shards)})" if merged.absent_shards else ""
        lacking.append(f"{merged.missing} of {result.planned} episodes are missing{shards}")
    if result.counts.errors:
        lacking.append(f"{result.counts.errors} ended in errors")
    if not lacking:
        return 0
    command = shlex.join(["yardarm", "eval", f"--config_path={RunFolder(result.path).config}"])
    what = "wait for their shards and merge again, or run them here with"
    print(f"yardarm: {', and '.join(lacking)}; {what}\n  {command}", file=sys.stderr)
    return 1


def _shortened(shards: Sequence[str]) -> str:
    return ", ".join(shards[:MOST_NAMED]) + (", …" if len(shards) > MOST_NAMED else "")
