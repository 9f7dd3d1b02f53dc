"""``yardarm dataset merge``: one dataset from several."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from yardarm.cli.dataset_commands import common
from yardarm.datasets.editing import merge_datasets

__all__ = ["run"]

FLAGS = [common.OUTPUT, ("--robot_type", "", "the robot of the result, where the datasets name different ones")]
HELP = common.help_text(
    "Put datasets one after the other. They must have the same rate and features; how their videos are encoded may\n"
    "differ. Instructions with the same words become one.",
    "merge DIR DIR … --output=DIR",
    FLAGS,
)


def run(words: Sequence[str]) -> int:
    """Merge, and say what there is."""
    command = common.read_command(words, "merge", FLAGS, HELP, several=True)
    if command is None:
        return 0
    roots, flags = command
    output = Path(common.required(flags, "output", "DIR"))
    with common.progress() as show:
        result = merge_datasets(roots, output, flags.get("robot_type"), show)
    common.say_result(result)
    return 0
