"""``yardarm runs``: list runs and trainings, label them, and clean up."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from yardarm.cli.groups import asks_for_help, command_lines, run_command
from yardarm.errors import UsageError, nearest
from yardarm.workspace import DEFAULT_FOLDER

__all__ = ["COMMANDS", "run"]

# Each is a file: `empty-trash` is cli/runs_commands/empty_trash.py.
COMMANDS = {
    "list": "list runs, trainings and evaluations; without a command, this is what `yardarm runs` does",
    "tag": "add and remove tags",
    "note": "write a note",
    "rename": "give a run a name",
    "hide": "omit runs from lists",
    "unhide": "list them again",
    "delete": "move runs to the trash",
    "restore": "put back what was deleted",
    "trash": "list what is in the trash",
    "empty-trash": "delete it for good",
    "clean": "move runs that never finished an episode, and old unfinished ones, to the trash",
}


def run(words: Sequence[str]) -> int:
    """Run the command that the first word names; without one, list a folder."""
    if asks_for_help(words):
        print(_usage())
        return 0
    name = words[0].replace("_", "-") if words else "list"
    if name in COMMANDS:
        return run_command("runs", name, words[1:])
    if not name.startswith("-") and not Path(words[0]).is_dir():
        raise UsageError(
            f"'{words[0]}' is neither a folder nor a command{nearest(name, COMMANDS)} see `yardarm runs --help`"
        )
    return run_command("runs", "list", words)


def _usage() -> str:
    return (
        "List runs, trainings and evaluations of several policies, label them, and clean up. `yardarm view` does the\n"
        "same in the browser.\n\n"
        "usage: yardarm runs [DIR] [--flag=value …]\n       yardarm runs COMMAND RUN … [--flag=value …]\n\n"
        f"{command_lines(COMMANDS)}\n\n"
        f"A RUN is a path, or the name that `yardarm runs` shows; a folder other than {DEFAULT_FOLDER} is named with "
        "--dir.\n`yardarm runs COMMAND --help` explains a command.\n\n"
        "examples:\n"
        "  yardarm runs --status=interrupted\n"
        "  yardarm runs tag outputs/eval/2026-11-18/* --add=baseline\n"
        "  yardarm runs clean"
    )
