"""``yardarm runs delete``: move runs to the trash."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

from yardarm.cli.runs_commands import common
from yardarm.workspace import readable_size

__all__ = ["run"]

FLAGS = [common.DIR]
HELP = common.help_text(
    "Move runs, trainings and evaluations to the trash, from where `yardarm runs restore` puts them back. What is\n"
    "running is not deleted, and what belongs to another (a shard, an opponent) only together with it.",
    "delete RUN …",
    FLAGS,
)


def run(words: Sequence[str]) -> int:
    """Move them to the trash, and say how to undo it."""
    command = common.read_command(words, "delete", FLAGS, HELP)
    if command is None:
        return 0
    plan = command.workspace.plan_deletion(command.names())
    for warning in plan.warnings:
        print(f"yardarm: warning: {warning}", file=sys.stderr)
    for trashed in command.workspace.delete(plan.names):
        print(f"{trashed.record.place}: in the trash")
    held = f", with {plan.checkpoints} checkpoints" if plan.checkpoints else ""
    folder = [f"--dir={command.flags['dir']}"] if "dir" in command.flags else []
    undo = shlex.join(["yardarm", "runs", "restore", *plan.names, *folder])
    print(f"{readable_size(plan.size)}{held}; undo with: {undo}")
    return 0
