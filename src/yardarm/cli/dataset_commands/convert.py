"""``yardarm dataset convert``: convert a dataset of an older version."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.cli.dataset_commands import common
from yardarm.datasets.editing import convert_dataset

__all__ = ["run"]

FLAGS = [common.OUTPUT, common.IN_PLACE]
HELP = common.help_text(
    "Convert a dataset from version 2.1 or 2.0 to 3.0. Frames stay identical to the last bit. Version 2.0 has no\n"
    "statistics per episode, so they are computed.",
    "convert DIR --output=DIR",
    FLAGS,
)


def run(words: Sequence[str]) -> int:
    """Convert the dataset and print the result."""
    command = common.read_command(words, "convert", FLAGS, HELP)
    if command is None:
        return 0
    (root,), flags = command
    output = common.destination(flags)
    with common.progress() as show:
        result = convert_dataset(root, output, show)
    common.say_result(result)
    return 0
