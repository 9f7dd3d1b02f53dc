"""``yardarm compare``: which of several runs is better, and how certain that is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from yardarm.cli.flags import Flags, listed, number, read_flags, refuse_unknown, switch
from yardarm.comparison import LerobotAssumptions, compare, read_runs, runs_in
from yardarm.errors import UsageError
from yardarm.report import comparison_sheet

__all__ = ["run"]

EXIT_WORSE = 3
SWITCHES = ("json", "fail-if-worse", "fail_if_worse", "unpaired", "allow_unfinished", "help")
FLAGS = [
    ("--json", "", "print everything as JSON instead of a table"),
    (
        "--fail-if-worse",
        "",
        "exit with code 3 if the first run is significantly worse than another (for CI: candidate first)",
    ),
    ("--confidence", "0.95", "confidence level of intervals; differences are tested at the level 1 - confidence"),
    ("--unpaired", "", "compare success rates only, even if the runs share episodes"),
    (
        "--allow_unfinished",
        "",
        "accept unfinished runs; their rates are biased, because quick episodes, often successes, finish first",
    ),
    ("--lerobot.seed", "1000", "the --seed of LeRobot's runs, which their files do not record"),
    (
        "--lerobot.batch_size",
        "",
        "the --eval.batch_size of LeRobot's runs (the smallest one): in LIBERO only the first batch is paired",
    ),
]
HELP = f"""\
Compare two or more runs. A run is a folder written by Yardarm (the folder of several policies stands for all of its
runs), or an eval_info.json written by LeRobot. Episodes are paired by task, index, seed and initial state. With more
than two runs, p-values are corrected for the number of comparisons. Runs with the same --method and different training
seeds are compared as one method.

usage: yardarm compare RUN_A RUN_B … [--flag=value …]

{listed(FLAGS)}

examples:
  yardarm compare outputs/eval/act outputs/eval/diffusion
  yardarm compare candidate main --fail-if-worse

exit code: 0 compared, 2 invalid command, 3 the first run is worse (with --fail-if-worse)"""


def run(words: Sequence[str]) -> int:
    """Read the runs, compare them, print the comparison."""
    paths, flags = read_flags(words, SWITCHES)
    if "help" in flags or not words:
        print(HELP)
        return 0
    refuse_unknown(flags, [name[2:] for name, _, _ in FLAGS] + ["fail_if_worse"], "compare")
    folders = runs_in([Path(path) for path in paths])
    if len(folders) < 2:
        raise UsageError(f"yardarm compare needs at least two runs, got {len(folders)}; see `yardarm compare --help`")
    confidence = number(flags, "confidence", 0.95)
    if not 0.5 <= confidence < 1:
        raise UsageError(f"--confidence must be at least 0.5 and below 1, got {confidence}")
    runs = read_runs(folders, _assumptions(flags), switch(flags, "allow_unfinished"))
    comparison = compare(runs, not switch(flags, "unpaired"), confidence)
    if switch(flags, "json"):
        print(json.dumps(comparison.to_json(), indent=1, ensure_ascii=False))
    else:
        comparison_sheet(comparison).print(Console(highlight=False, markup=False, emoji=False))
    fail = switch(flags, "fail-if-worse") or switch(flags, "fail_if_worse")
    return EXIT_WORSE if fail and comparison.first_is_worse() else 0


def _assumptions(flags: Flags) -> LerobotAssumptions:
    batch_size = int(number(flags, "lerobot.batch_size", 0, whole=True))
    return LerobotAssumptions(
        int(number(flags, "lerobot.seed", LerobotAssumptions().seed, whole=True)), batch_size or None
    )
