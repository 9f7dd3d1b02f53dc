"""``yardarm dataset convert``: datasets of older versions."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.cli.dataset_commands import common
from yardarm.datasets.editing import convert_dataset

__all__ = ["run"]

FLAGS = [common.OUTPUT, common.IN_PLACE]
HELP = common.help_text(
    "Bring a dataset of version 2.1 or 2.0 to 3.0. Frames stay what they are, to the last bit; of version 2.0, whose\n"
    "episodes have no statistics of their own, they are computed.",
    "convert DIR --output=DIR",
    FLAGS,
)


def run(words: Sequence[str]) -> int:
    """Convert, and say what there is."""
    command = common.read_command(words, "convert", FLAGS, HELP)
    if command is None:
        return 0
    (root,), flags = command
    output = common.destination(flags)
    with common.progress() as show:
        result = convert_dataset(root, output, show)
    common.say_result(result)
    return 0
