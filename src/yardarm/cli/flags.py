"""Reads dotted flags, like those of LeRobot's commands: ``--seed=10`` or ``--seed 10``."""

from __future__ import annotations

import dataclasses
import math
import re
import shlex
from collections.abc import Collection, Sequence

from yardarm.config import BareFlag, require_value
from yardarm.errors import UsageError, nearest
from yardarm.secrecy import is_secret

__all__ = [
    "Flags",
    "describe",
    "listed",
    "number",
    "read_flags",
    "refuse_unknown",
    "shown_command",
    "switch",
    "text",
]

Flags = dict[str, str]
NEGATIVE = re.compile(r"-\.?\d")


def read_flags(words: Sequence[str], switches: Collection[str] = ()) -> tuple[list[str], Flags]:
    """Split a command's words into plain arguments and flags; a flag without a value means true.

    `switches` take a value only after ``=``, never from the next word.
    """
    plain: list[str] = []
    flags: Flags = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "-h":
            word = "--help"
        if not word.startswith("-"):
            plain.append(word)
            continue
        if not word.startswith("--"):
            raise UsageError(f"'{word}' is not a flag; flags look like --env.task=reach-v3")
        name, equals, value = word[2:].partition("=")
        if not equals:
            takes_next = name not in switches and rest and (NEGATIVE.match(rest[0]) or not rest[0].startswith("-"))
            value = rest.pop(0) if takes_next else BareFlag()
        if name in flags:
            raise UsageError(f"--{name} is given twice: '{flags[name]}' and '{value}'")
        flags[name] = value
    return plain, flags


def refuse_unknown(flags: Flags, known: Collection[str], command: str) -> None:
    """Raise a UsageError for a flag that the command does not have."""
    for name in flags:
        if name not in known:
            raise UsageError(f"unknown option '--{name}'{nearest(name, known)} see `yardarm {command} --help`")


def switch(flags: Flags, name: str, default: bool = False) -> bool:
    """Whether a true-or-false flag is on."""
    text = flags.get(name, str(default)).lower()
    if text not in ("true", "false"):
        raise UsageError(f"--{name} must be true or false, got '{flags[name]}'")
    return text == "true"


def text(flags: Flags, name: str) -> str | None:
    """The text given for a flag, if it is given; it must have one."""
    require_value(name, flags.get(name))
    return flags.get(name)


def number(flags: Flags, name: str, default: float, whole: bool = False) -> float:
    """The number given for a flag; `whole` numbers are 0 or more."""
    text = flags.get(name)
    if text is None:
        return default
    if whole:
        if not text.isdecimal():
            raise UsageError(f"--{name} must be a whole number, got '{text}'")
        return int(text)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"--{name} must be a number, got '{text}'")
    return value


def shown_command(command: str, flags: Flags) -> str:
    """A command that the user can copy; without secrets, which do not belong in a shell history."""
    shown = [f"--{name}={value}" for name, value in flags.items() if not is_secret(name.rpartition(".")[2])]
    return shlex.join(["yardarm", command, *shown])


def describe(kind: type, prefix: str = "") -> list[tuple[str, str, str]]:
    """The flags of a configuration class, for ``--help``: name, default, meaning."""
    rows = []
    for field in dataclasses.fields(kind):
        if "help" in field.metadata:
            default = "" if field.default in (None, dataclasses.MISSING) else str(field.default)
            rows.append((f"--{prefix}{field.name}", default, field.metadata["help"]))
    return rows


def listed(rows: Sequence[tuple[str, str, str]]) -> str:
    """Flags as aligned lines of help: name, meaning, default."""
    width = max(len(name) for name, _, _ in rows)
    return "\n".join(
        f"  {name:<{width}}  {text}" + (f" [{default}]" if default else "") for name, default, text in rows
    )
