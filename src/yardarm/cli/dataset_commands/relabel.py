"""``yardarm dataset relabel``: give episodes another instruction."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.cli.dataset_commands import common
from yardarm.datasets.editing import relabel_episodes

__all__ = ["run"]

FLAGS = [
    ("--episodes", "", "the episodes that get the instruction, like 1,3,5-8"),
    ("--task", "", "the instruction, for all frames of these episodes"),
    common.OUTPUT,
    common.IN_PLACE,
]
HELP = common.help_text(
    "Give episodes another instruction. `rename-task` rewords an instruction in all episodes that have it.",
    "relabel DIR --episodes=1,3,5-8 --task='pick up the cube' --output=DIR",
    FLAGS,
)


def run(words: Sequence[str]) -> int:
    """Relabel the episodes and print the result."""
    command = common.read_command(words, "relabel", FLAGS, HELP)
    if command is None:
        return 0
    (root,), flags = command
    episodes = common.episode_numbers(common.required(flags, "episodes", "1,3,5-8"), "--episodes")
    task = common.required(flags, "task", "'pick up the cube'")
    output = common.destination(flags)
    with common.progress() as show:
        result = relabel_episodes(root, episodes, task, output, show)
    common.say_result(result)
    return 0
