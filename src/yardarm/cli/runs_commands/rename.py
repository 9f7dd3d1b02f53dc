"""``yardarm runs rename``: give a run a name."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.cli.flags import text
from yardarm.cli.runs_commands import common
from yardarm.errors import UsageError
from yardarm.workspace import LabelChange

__all__ = ["run"]

FLAGS = [("--name", "", 'the name; "" goes back to the folder\'s'), common.DIR]
HELP = common.help_text(
    "Give a run a name, which lists and pages show. The folder stays where it is, so commands and links keep working.",
    "rename RUN --name=NAME",
    FLAGS,
)


def run(words: Sequence[str]) -> int:
    """Set the name."""
    command = common.read_command(words, "rename", FLAGS, HELP)
    if command is None:
        return 0
    name = text(command.flags, "name")
    if name is None:
        raise UsageError("--name is missing; give it like --name='ACT, 50k steps'")
    names = command.names()
    if len(names) > 1:
        raise UsageError(f"yardarm runs rename takes one run, got {len(names)}")
    command.workspace.label(names, LabelChange(name=name))
    print(f"{names[0]}: {name or 'no name'}")
    return 0
