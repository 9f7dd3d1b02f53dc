"""``yardarm runs restore``: put back what was deleted."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.cli.runs_commands import common

__all__ = ["run"]

FLAGS = [common.DIR]
HELP = common.help_text(
    "Put back what was deleted, by its name or by what `yardarm runs trash` calls it.", "restore RUN …", FLAGS
)


def run(words: Sequence[str]) -> int:
    """Put them back."""
    command = common.read_command(words, "restore", FLAGS, HELP)
    if command is None:
        return 0
    trash = command.workspace.trash
    for trashed in [trash.find(word) for word in command.words]:
        print(f"put back {trash.restore(trashed)}")
    return 0
