"""``yardarm runs tag``: add and remove tags."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.cli.flags import text
from yardarm.cli.runs_commands import common
from yardarm.errors import UsageError
from yardarm.workspace import LabelChange

__all__ = ["run"]

FLAGS = [("--add", "", "tags to add, separated by commas"), ("--remove", "", "tags to remove"), common.DIR]
HELP = common.help_text("Add tags to runs, or remove them.", "tag RUN … --add=TAG,… --remove=TAG,…", FLAGS)


def run(words: Sequence[str]) -> int:
    """Change the tags, and print what each run has now."""
    command = common.read_command(words, "tag", FLAGS, HELP)
    if command is None:
        return 0
    add, remove = (_tags(text(command.flags, name) or "") for name in ("add", "remove"))
    if not add and not remove:
        raise UsageError("no tags are given; add --add=TAG or --remove=TAG")
    names = command.names()
    for name, labels in zip(names, command.workspace.label(names, LabelChange(add=add, remove=remove)), strict=True):
        print(f"{name}: {', '.join(labels.tags) or 'no tags'}")
    return 0


def _tags(given: str) -> tuple[str, ...]:
    return tuple(tag.strip() for tag in given.split(",") if tag.strip())
