"""``yardarm dataset delete``: delete episodes."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.cli.dataset_commands import common
from yardarm.datasets.editing import delete_episodes

__all__ = ["run"]

FLAGS = [("--episodes", "", "the episodes to delete, like 1,3,5-8"), common.OUTPUT, common.IN_PLACE]
HELP = common.help_text(
    "Delete episodes. Later episodes are renumbered, and instructions that no episode uses any more are removed.",
    "delete DIR --episodes=1,3,5-8 --output=DIR",
    FLAGS,
)


def run(words: Sequence[str]) -> int:
    """Delete the episodes and print the result."""
    command = common.read_command(words, "delete", FLAGS, HELP)
    if command is None:
        return 0
    (root,), flags = command
    episodes = common.episode_numbers(common.required(flags, "episodes", "1,3,5-8"), "--episodes")
    output = common.destination(flags)
    with common.progress() as show:
        result = delete_episodes(root, episodes, output, show)
    common.say_result(result)
    return 0
