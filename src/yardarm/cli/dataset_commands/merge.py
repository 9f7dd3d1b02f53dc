"""``yardarm dataset merge``: concatenate datasets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from yardarm.cli.dataset_commands import common
from yardarm.datasets.editing import merge_datasets

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
    output = Path(common.required(flags, "output", "DIR"))
    with common.progress() as show:
        result = merge_datasets(roots, output, flags.get("robot_type"), show)
    common.say_result(result)
    return 0
