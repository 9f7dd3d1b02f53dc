"""``yardarm dataset check``: look for bad episodes."""

from __future__ import annotations

import json
from collections.abc import Sequence

from yardarm.cli.dataset_commands import common
from yardarm.cli.flags import switch
from yardarm.datasets import read_metadata
from yardarm.datasets.quality import CHECKS, PROBLEM, WARNING, CheckReport, check_dataset

__all__ = ["run"]

FLAGS = [
    ("--cameras", "true", "also decode a few pictures of each episode, to find frozen and blank cameras"),
    ("--json", "", "print everything as JSON"),
]
HELP = common.help_text(
    "Look for what commonly goes wrong with recordings: idle, jumping, duplicate, far too long or short episodes,\n"
    "missing values and instructions, outliers, frozen cameras. Changes nothing. The exit code is 1 if there is a\n"
    "problem or a warning, and 0 otherwise.",
    "check DIR [--cameras=false] [--json]",
    FLAGS,
)
# More lines of one check say nothing new; --json and the page have them all.
MOST_LINES = 8


def run(words: Sequence[str]) -> int:
    """Check a dataset and print what was found."""
    command = common.read_command(words, "check", FLAGS, HELP)
    if command is None:
        return 0
    (root,), flags = command
    cameras, as_json = switch(flags, "cameras", default=True), switch(flags, "json")
    meta = read_metadata(root)
    with common.progress_bars() as show:
        report = check_dataset(meta, cameras, show)
    if as_json:
        print(json.dumps(report.to_json(), indent=1, ensure_ascii=False))
    else:
        _show(report, root)
    return 1 if report.count(PROBLEM, WARNING) else 0


def _show(report: CheckReport, root: object) -> None:
    print(f"{root}: {report.summary()}")
    for name, findings in report.by_check.items():
        print(f"\n{CHECKS[name].title}: {CHECKS[name].advice}")
        for finding in findings[:MOST_LINES]:
            print(f"  {finding.severity}: {finding}")
        if len(findings) > MOST_LINES:
            print(f"  and {len(findings) - MOST_LINES} more; --json lists them all")
    if report.count(PROBLEM, WARNING):
        print(f"\n`yardarm dataset view {root}` shows them, and mends what can be mended.")
