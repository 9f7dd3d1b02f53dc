"""``yardarm dataset rename-task``: reword an instruction."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.cli.dataset_commands import common
from yardarm.datasets.editing import rename_task

__all__ = ["run"]

FLAGS = [
    ("--from", "", "the current instruction"),
    ("--to", "", "the new instruction; if it already exists, the two become one"),
    common.OUTPUT,
    common.IN_PLACE,
]
HELP = common.help_text(
    "Reword an instruction.", "rename-task DIR --from='pick cube' --to='pick up the cube' --output=DIR", FLAGS
)


def run(words: Sequence[str]) -> int:
    """Reword the instruction and print the result."""
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
