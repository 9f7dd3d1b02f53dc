"""Shared by the commands of ``yardarm runs``: the workspace, its runs by name, and flags."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from yardarm.cli.flags import Flags, listed, read_flags, refuse_unknown, switch, text
from yardarm.errors import UsageError
from yardarm.workspace import DEFAULT_FOLDER, LabelChange, Line, Workspace

__all__ = ["DIR", "YES", "Flag", "RunsCommand", "help_text", "label", "open_workspace", "read_command", "sure"]

Flag = tuple[str, str, str]
DIR: Flag = ("--dir", str(DEFAULT_FOLDER), "the folder that they are in")
YES: Flag = ("--yes", "", "do it, without asking")
SWITCHES = ("help", "json", "hidden", "yes")


@dataclass(frozen=True, slots=True)
class RunsCommand:
    """What was typed: the workspace, the words that name runs, and flags."""

    workspace: Workspace
    words: tuple[str, ...]
    flags: Flags

    def names(self) -> list[str]:
        """The runs' names in the workspace."""
        lines = self.workspace.by_name()
        return [_found(self.workspace, lines, word) for word in self.words]


def help_text(about: str, usage: str, flags: Sequence[Flag]) -> str:
    """The text that ``--help`` prints."""
    return f"{about}\n\nusage: yardarm runs {usage}\n\n{listed(flags)}"


def read_command(
    words: Sequence[str], name: str, flags: Sequence[Flag], explained: str, takes_runs: bool = True
) -> RunsCommand | None:
    """What was typed; prints the help and returns None if that was asked for."""
    plain, given = read_flags(words, SWITCHES)
    if "help" in given:
        print(explained)
        return None
    refuse_unknown(given, [flag[2:] for flag, _, _ in flags], f"runs {name}")
    if takes_runs and not plain:
        raise UsageError(f"yardarm runs {name} needs a run; `yardarm runs` lists them")
    if not takes_runs and plain:
        raise UsageError(f"yardarm runs {name} takes flags only, not '{plain[0]}'; see `yardarm runs {name} --help`")
    return RunsCommand(open_workspace(text(given, "dir")), tuple(plain), given)


def open_workspace(folder: str | None) -> Workspace:
    """The workspace in a folder, or in the usual one."""
    path = Path(folder) if folder else DEFAULT_FOLDER
    if not path.is_dir():
        hint = "" if folder else "; name the folder of your runs: `yardarm runs DIR`, or --dir=DIR with a command"
        raise UsageError(f"there is no folder {path}{hint}")
    return Workspace(path)


def label(words: Sequence[str], name: str, about: str, change: LabelChange) -> int:
    """Change the same label of all named runs; for commands that take nothing else."""
    command = read_command(words, name, [DIR], help_text(about, f"{name} RUN …", [DIR]))
    if command is None:
        return 0
    names = command.names()
    command.workspace.label(names, change)
    print("\n".join(names))
    return 0


def sure(flags: Flags, question: str, input_is_terminal: bool) -> bool:
    """Whether the user wants it: by --yes, or typed."""
    if switch(flags, "yes"):
        return True
    return input_is_terminal and input(f"{question} Type yes: ").strip().lower() == "yes"


def _found(workspace: Workspace, lines: dict[str, Line], word: str) -> str:
    """The name that a path, a name or a title stands for."""
    root = workspace.viewed.root
    path = Path(word)
    if path.exists() and path.resolve().is_relative_to(root):
        own = os.path.relpath(path.resolve(), root)
        if own in lines:
            return own
    if word.rstrip("/") in lines:
        return word.rstrip("/")
    fits = [name for name, line in lines.items() if word in (line["labels"]["name"], os.path.basename(name))]
    if len(fits) > 1:
        raise UsageError(f"'{word}' could be {' or '.join(fits[:5])}; give the whole path")
    if fits:
        return fits[0]
    if path.is_dir() and not path.resolve().is_relative_to(root):
        raise UsageError(f"{word} is not inside {root}; name the folder around it with --dir=DIR")
    raise UsageError(f"there is no run, training or evaluation '{word}' in {root}; `yardarm runs` lists them")
