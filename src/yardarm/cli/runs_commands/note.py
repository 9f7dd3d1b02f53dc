"""``yardarm runs note``: write a note."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.cli.flags import text
from yardarm.cli.runs_commands import common
from yardarm.errors import UsageError
from yardarm.results import read_labels
from yardarm.workspace import LabelChange

__all__ = ["run"]

FLAGS = [("--text", "", 'the note; "" removes it'), common.DIR]
HELP = common.help_text("Write a note about a run; without --text, print it.", "note RUN [--text=…]", FLAGS)


def run(words: Sequence[str]) -> int:
    """Write or print the note."""
    command = common.read_command(words, "note", FLAGS, HELP)
    if command is None:
        return 0
    names = command.names()
    if len(names) > 1:
        raise UsageError(f"yardarm runs note takes one run, got {len(names)}")
    note = text(command.flags, "text")
    if note is not None:
        command.workspace.label(names, LabelChange(note=note))
        print(names[0])
    else:
        print(read_labels(command.workspace.folder(names[0])).note)
    return 0
