"""Groups of commands, such as ``yardarm dataset info``: each command is a file of the group's own folder."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence

from yardarm.errors import UsageError, nearest

__all__ = ["asks_for_help", "command_lines", "run_command", "run_group"]


def run_group(group: str, words: Sequence[str], commands: Mapping[str, str], usage: str) -> int:
    """Run the command that the first word names, or print how the group is used."""
    if not words or asks_for_help(words):
        print(usage)
        return 0
    # LeRobot spells its operations with underscores.
    name = words[0].replace("_", "-")
    if name not in commands:
        raise UsageError(
            f"unknown command '{group} {words[0]}'{nearest(name, commands)} `yardarm {group} --help` lists them all"
        )
    return run_command(group, name, words[1:])


def run_command(group: str, name: str, words: Sequence[str]) -> int:
    """Run one of a group's commands: `empty-trash` of `runs` is cli/runs_commands/empty_trash.py."""
    return int(importlib.import_module(f"yardarm.cli.{group}_commands.{name.replace('-', '_')}").run(words))


def asks_for_help(words: Sequence[str]) -> bool:
    """Whether the first word asks how something is used."""
    return bool(words) and words[0] in ("-h", "--help", "help")


def command_lines(commands: Mapping[str, str]) -> str:
    """The commands and what they do, a line each."""
    width = max(map(len, commands))
    return "\n".join(f"  {name:<{width}}  {text}" for name, text in commands.items())
