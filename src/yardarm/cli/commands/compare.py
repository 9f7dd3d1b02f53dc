"""``yardarm compare``: which of several runs is better, and how sure one can be."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from yardarm.cli.flags import Flags, listed, number, read_flags, refuse_unknown, switch
from yardarm.comparison import LerobotAssumptions, compare, read_runs, runs_in
from yardarm.errors import UsageError
from yardarm.report import print_comparison

__all__ = ["run"]

EXIT_WORSE = 3
SWITCHES = ("json", "fail-if-worse", "fail_if_worse", "unpaired", "allow_unfinished", "help")
FLAGS = [
    ("--json", "", "print everything as JSON instead of a table"),
    ("--fail-if-worse", "", "exit code 3 if the first run is shown to be worse than another (for CI: candidate first)"),
    ("--confidence", "0.95", "of intervals; a difference is found at the level 1 - confidence"),
    ("--unpaired", "", "compare rates only, even of runs that share episodes"),
    ("--allow_unfinished", "", "take runs that are not finished, whose quick episodes, often successes, came first"),
    ("--lerobot.seed", "1000", "the --seed that LeRobot's runs were made with, which their files do not say"),
    (
        "--lerobot.batch_size",
        "",
        "their --eval.batch_size, the smallest if they differ: in LIBERO only the first batch is paired",
    ),
]
HELP = f"""\
Compare runs: Yardarm's folders (that of an evaluation of several policies stands for all of its runs), or LeRobot's
eval_info.json. Episodes are paired by task, index and seed, and by where
they begin. With more than two runs, p-values allow for the number of comparisons. Runs that name the same --method and
different training seeds are compared as a method.

usage: yardarm compare RUN_A RUN_B … [--flag=value …]

{listed(FLAGS)}

exit code: 0, 2 a mistake in the command, 3 with --fail-if-worse if the first run is worse"""


def run(words: Sequence[str]) -> int:
    """Read the runs, compare them, print the comparison."""
    paths, flags = read_flags(words, SWITCHES)
    if "help" in flags or not words:
        print(HELP)
        return 0
    refuse_unknown(flags, [name[2:] for name, _, _ in FLAGS] + ["fail_if_worse"], "compare")
    folders = runs_in([Path(path) for path in paths])
    if len(folders) < 2:
        raise UsageError("yardarm compare takes at least two runs; see `yardarm compare --help`")
    confidence = number(flags, "confidence", 0.95)
    if not 0.5 <= confidence < 1:
        raise UsageError(f"--confidence must lie between 0.5 and 1, got {confidence}")
    runs = read_runs(folders, _assumptions(flags), switch(flags, "allow_unfinished"))
    comparison = compare(runs, not switch(flags, "unpaired"), confidence)
    if switch(flags, "json"):
        print(json.dumps(comparison.to_json(), indent=1, ensure_ascii=False))
    else:
        print_comparison(comparison, Console(highlight=False, markup=False, emoji=False))
    fail = switch(flags, "fail-if-worse") or switch(flags, "fail_if_worse")
    return EXIT_WORSE if fail and comparison.first_is_worse() else 0


def _assumptions(flags: Flags) -> LerobotAssumptions:
    batch_size = int(number(flags, "lerobot.batch_size", 0, whole=True))
    return LerobotAssumptions(
        int(number(flags, "lerobot.seed", LerobotAssumptions().seed, whole=True)), batch_size or None
    )
