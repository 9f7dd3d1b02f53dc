"""What the commands that edit datasets share: where the result goes, bars, the last line, lists of episodes."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from yardarm.cli.flags import Flags, listed, read_flags, refuse_unknown, switch
from yardarm.datasets import DatasetMetadata
from yardarm.datasets.editing import OnProgress
from yardarm.errors import UsageError

__all__ = [
    "IN_PLACE",
    "OUTPUT",
    "Flag",
    "destination",
    "episode_numbers",
    "help_text",
    "progress",
    "read_command",
    "required",
    "say_result",
]

Flag = tuple[str, str, str]
OUTPUT: Flag = ("--output", "", "a folder for the result, which must not be there yet")
IN_PLACE: Flag = ("--in_place", "false", "take the place of the dataset when the result is complete")
SWITCHES = ("in_place", "json", "help")


def help_text(about: str, usage: str, flags: Sequence[Flag]) -> str:
    """What ``--help`` prints."""
    return f"{about}\n\nusage: yardarm dataset {usage}\n\n{listed(flags)}"


def read_command(
    words: Sequence[str], name: str, flags: Sequence[Flag], text: str, several: bool = False
) -> tuple[list[Path], Flags] | None:
    """A command's folders and flags; None if only help was wanted, which is printed."""
    plain, given = read_flags(words, SWITCHES)
    if "help" in given or not words:
        print(text)
        return None
    refuse_unknown(given, [flag[2:] for flag, _, _ in flags], f"dataset {name}")
    if not plain or (len(plain) > 1 and not several):
        wanted = "the folders of datasets" if several else "the folder of one dataset"
        got = f", got {' '.join(plain)}" if plain else ""
        raise UsageError(f"yardarm dataset {name} takes {wanted}{got}; see `yardarm dataset {name} --help`")
    return [Path(word) for word in plain], given


def required(flags: Flags, name: str, example: str) -> str:
    """A flag's text, which must be there."""
    if flags.get(name, "true") == "true":
        raise UsageError(f"--{name} is missing: --{name}={example}")
    return flags[name]


def destination(flags: Flags) -> Path | None:
    """Where the result goes; None is the dataset's own place, which has to be asked for."""
    in_place = switch(flags, "in_place")
    if in_place and "output" in flags:
        raise UsageError("--output and --in_place=true exclude each other")
    if in_place:
        return None
    if "output" not in flags:
        raise UsageError("where does the result go? --output=DIR, or --in_place=true to replace the dataset")
    return Path(required(flags, "output", "DIR"))


@contextlib.contextmanager
def progress() -> Iterator[OnProgress]:
    """Bars on a terminal, nothing elsewhere; and a word if somebody stops it."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bars = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    tasks: dict[str, TaskID] = {}

    def show(what: str, done: int, total: int) -> None:
        if what not in tasks:
            tasks[what] = bars.add_task(what, total=total)
        bars.update(tasks[what], completed=done)

    try:
        with bars:
            yield show
    except KeyboardInterrupt:
        print("yardarm: stopped; the original is whole (in place: as it was, or already edited)", file=sys.stderr)
        raise


def say_result(meta: DatasetMetadata) -> None:
    """One line about what there is now."""
    print(f"{meta.root}: {meta.total_episodes} episode(s), {meta.total_frames} frames, {meta.total_tasks} task(s)")


def episode_numbers(text: str, flag: str) -> list[int]:
    """Numbers as in ``1,3,5-8`` or ``[1, 3]``."""
    numbers: list[int] = []
    for word in text.strip().removeprefix("[").removesuffix("]").split(","):
        if match := re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", word):
            first, last = int(match[1]), int(match[2] or match[1])
            if last < first:
                raise UsageError(f"{flag}: '{word.strip()}' ends before it begins")
            numbers += range(first, last + 1)
        else:
            raise UsageError(
                f"{flag}: '{word.strip()}' is no episode's number; they look like 1,3,5-8, and count from 0"
            )
    return numbers
