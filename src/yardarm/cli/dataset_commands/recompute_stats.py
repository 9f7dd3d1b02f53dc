"""``yardarm dataset recompute-stats``: compute exact statistics from all frames."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.cli.dataset_commands import common
from yardarm.cli.flags import number
from yardarm.datasets.editing import recompute_stats

__all__ = ["run"]

FLAGS = [("--every", "1", "use only every N-th image"), common.OUTPUT, common.IN_PLACE]
HELP = common.help_text(
    "Recompute the statistics of the dataset and of each episode. They are exact: quantiles are computed over all\n"
    "frames, and pixel values are counted.",
    "recompute-stats DIR --in_place=true",
    FLAGS,
)


def run(words: Sequence[str]) -> int:
    """Recompute the statistics and print the result."""
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
