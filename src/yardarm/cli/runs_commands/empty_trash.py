"""``yardarm runs empty-trash``: delete what is in the trash for good."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from yardarm.cli.runs_commands import common
from yardarm.errors import UsageError
from yardarm.workspace import readable_size

__all__ = ["run"]

FLAGS = [common.YES, common.DIR]
HELP = common.help_text("Delete what is in the trash for good. It asks first.", "empty-trash [--yes]", FLAGS)


def run(words: Sequence[str]) -> int:
    """Show what would be deleted, ask, and delete it."""
    command = common.read_command(words, "empty-trash", FLAGS, HELP, takes_runs=False)
    if command is None:
        return 0
    folders = command.workspace.trash.folders()
    if not folders:
        print("the trash is empty")
        return 0
    for trashed in folders:
        print(f"{trashed.record.place}, deleted {trashed.record.deleted}, {readable_size(trashed.size)}")
    question = f"Delete {len(folders)} folder(s), {readable_size(sum(own.size for own in folders))}, for good?"
    if not common.sure(command.flags, question, sys.stdin.isatty()):
        raise UsageError("nothing was deleted; add --yes to delete it for good")
    print(f"freed {readable_size(command.workspace.trash.empty())}")
    return 0
