"""``yardarm robot``: look at a robot or a leader, and at what went over its cable."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from yardarm.errors import UsageError, nearest

__all__ = ["COMMANDS", "run"]

# Each is a file: `info` is cli/robot_commands/info.py.
COMMANDS = {
    "info": "show the motors, how they are, what is wrong and what to do",
    "log": "show a log of the bus, or play it again",
}


def run(words: Sequence[str]) -> int:
    """Run the command that the first word names."""
    if not words or words[0] in ("-h", "--help", "help"):
        print(_usage())
        return 0
    name = words[0]
    if name not in COMMANDS:
        raise UsageError(
            f"unknown command 'robot {name}'{nearest(name, COMMANDS)} `yardarm robot --help` lists them all"
        )
    return int(importlib.import_module(f"yardarm.cli.robot_commands.{name}").run(words[1:]))


def _usage() -> str:
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:<{width}}  {text}" for name, text in COMMANDS.items())
    return (
        "Look at a robot or a leader, and at what went over its cable. Nothing moves.\n\n"
        f"usage: yardarm robot COMMAND … [--flag=value …]\n\n{commands}\n\n"
        "`yardarm robot COMMAND --help` explains a command."
    )
