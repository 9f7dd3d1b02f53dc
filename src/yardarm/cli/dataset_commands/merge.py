"""``yardarm dataset merge``: concatenate datasets."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from yardarm.cli.dataset_commands import common
from yardarm.datasets.editing import merge_datasets
from yardarm.errors import UsageError

__all__ = ["run"]

FLAGS = [common.OUTPUT, ("--robot_type", "", "the result's robot type, if the datasets' differ")]
HELP = common.help_text(
    "Concatenate datasets. They must have the same frame rate and features; their videos may be encoded differently.\n"
    "Identical instructions become one.",
    "merge DIR DIR … --output=DIR",
    FLAGS,
)


def run(words: Sequence[str]) -> int:
    """Merge the datasets and print the result."""
    command = common.read_command(words, "merge", FLAGS, HELP, several=True)
    if command is None:
        return 0
    roots, flags = command
    if "output" not in flags:
        raise UsageError(_where_to(roots))
    if len(roots) < 2:
        raise UsageError(f"yardarm dataset merge takes at least two datasets, got {roots[0]}")
    output = Path(common.required(flags, "output", "DIR"))
    with common.progress() as show:
        result = merge_datasets(roots, output, flags.get("robot_type"), show)
    common.say_result(result)
    return 0


def _where_to(roots: Sequence[Path]) -> str:
    """The command as it was meant; a last folder that does not exist is likely the result's."""
    *inputs, last = roots
    named = len(roots) > 2 and not last.exists()
    command = ["yardarm", "dataset", "merge", *map(str, inputs if named else roots)]
    return f"--output is missing; try: {shlex.join(command)} --output={shlex.quote(str(last)) if named else 'DIR'}"
