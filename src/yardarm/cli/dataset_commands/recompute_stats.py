"""``yardarm dataset recompute-stats``: exact statistics from the frames themselves."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.cli.dataset_commands import common
from yardarm.cli.flags import number
from yardarm.datasets.editing import recompute_stats

__all__ = ["run"]

FLAGS = [("--every", "1", "of pictures, count each so-many-th only"), common.OUTPUT, common.IN_PLACE]
HELP = common.help_text(
    "Compute statistics anew, of all frames and of each episode's. They are exact: quantiles of numbers are taken\n"
    "over all frames, and pixels are counted.",
    "recompute-stats DIR --in_place=true",
    FLAGS,
)


def run(words: Sequence[str]) -> int:
    """Count, and say what there is."""
    command = common.read_command(words, "recompute-stats", FLAGS, HELP)
    if command is None:
        return 0
    (root,), flags = command
    every = int(number(flags, "every", 1, whole=True))
    output = common.destination(flags)
    with common.progress() as show:
        result = recompute_stats(root, output, every, show)
    common.say_result(result)
    return 0
