"""``yardarm runs clean``: move what is probably not worth keeping to the trash."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.cli.flags import number, switch
from yardarm.cli.runs_commands import common
from yardarm.workspace import OLD_DAYS, find_leftovers, readable_size

__all__ = ["run"]

FLAGS = [
    ("--yes", "", "move them to the trash; without it, they are only listed"),
    ("--older_than", str(OLD_DAYS), "days since the last episode of an unfinished run"),
    common.DIR,
]
HELP = common.help_text(
    "Find runs that never finished an episode, folders that never became a run, and unfinished runs that nobody has\n"
    "resumed for long; with --yes, move them to the trash.",
    "clean [--yes]",
    FLAGS,
)


def run(words: Sequence[str]) -> int:
    """List them, and move them if that is wanted."""
    command = common.read_command(words, "clean", FLAGS, HELP, takes_runs=False)
    if command is None:
        return 0
    found = find_leftovers(command.workspace, number(command.flags, "older_than", OLD_DAYS))
    for own in found:
        print(f"{own.name}: {own.reason}, {readable_size(own.size)}")
    if not found:
        print("nothing to clean up")
    elif switch(command.flags, "yes"):
        for own in found:
            command.workspace.trash.put(own.name)
        print(f"moved {len(found)} to the trash; `yardarm runs restore NAME` puts one back")
    else:
        print(f"{len(found)} could go to the trash: add --yes")
    return 0
