"""``yardarm dataset rename-task``: other words for an instruction."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.cli.dataset_commands import common
from yardarm.datasets.editing import rename_task

__all__ = ["run"]

FLAGS = [
    ("--from", "", "the instruction as it is"),
    ("--to", "", "its new words; if another instruction has them, the two become one"),
    common.OUTPUT,
    common.IN_PLACE,
]
HELP = common.help_text(
    "Give an instruction other words.", "rename-task DIR --from='pick cube' --to='pick up the cube' --output=DIR", FLAGS
)


def run(words: Sequence[str]) -> int:
    """Rename it, and say what there is."""
    command = common.read_command(words, "rename-task", FLAGS, HELP)
    if command is None:
        return 0
    (root,), flags = command
    old, new = common.required(flags, "from", "'pick cube'"), common.required(flags, "to", "'pick up the cube'")
    output = common.destination(flags)
    with common.progress() as show:
        result = rename_task(root, old, new, output, show)
    common.say_result(result)
    return 0
