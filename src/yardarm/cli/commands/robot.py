"""``yardarm robot``: look at a robot or a leader, and at what went over its cable."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.cli.groups import command_lines, run_group

__all__ = ["COMMANDS", "run"]

# Each is a file: `info` is cli/robot_commands/info.py.
COMMANDS = {
    "info": "show the motors, how they are, what is wrong and what to do",
    "log": "show a log of the bus, or play it again",
}


def run(words: Sequence[str]) -> int:
    """Run the command that the first word names."""
    return run_group("robot", words, COMMANDS, _usage())


def _usage() -> str:
    return (
        "Look at a robot or a leader, and at what went over its cable. Nothing moves.\n\n"
        f"usage: yardarm robot COMMAND … [--flag=value …]\n\n{command_lines(COMMANDS)}\n\n"
        "`yardarm robot COMMAND --help` explains a command."
    )
