"""``yardarm runs trash``: list what is in the trash."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.cli.runs_commands import common
from yardarm.workspace import readable_size

__all__ = ["run"]

FLAGS = [common.DIR]
HELP = common.help_text("List what is in the trash.", "trash [--dir=DIR]", FLAGS)


def run(words: Sequence[str]) -> int:
    """Print what is in the trash, and how much space it takes."""
    command = common.read_command(words, "trash", FLAGS, HELP, takes_runs=False)
    if command is None:
        return 0
    total = 0
    for trashed in (folders := command.workspace.trash.folders()):
        size = trashed.size
        total += size
        print(f"{trashed.id}  was {trashed.record.place}, deleted {trashed.record.deleted}, {readable_size(size)}")
    if folders:
        print(
            f"{readable_size(total)}; `yardarm runs restore NAME` puts one back, `yardarm runs empty-trash` deletes all"
        )
    else:
        print("the trash is empty")
    return 0
