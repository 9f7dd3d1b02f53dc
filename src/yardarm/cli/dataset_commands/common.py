"""Shared by the dataset commands: the destination, progress bars, the result line, lists of episodes."""

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
    "progress_bars",
    "read_command",
    "required",
    "say_result",
]

Flag = tuple[str, str, str]
OUTPUT: Flag = ("--output", "", "the folder for the result; it must not exist yet")
IN_PLACE: Flag = ("--in_place", "false", "replace the dataset with the result once it is complete")
SWITCHES = ("in_place", "json", "cameras", "help")


def help_text(about: str, usage: str, flags: Sequence[Flag]) -> str:
    """The text that ``--help`` prints."""
    return f"{about}\n\nusage: yardarm dataset {usage}\n\n{listed(flags)}"


def read_command(
    words: Sequence[str], name: str, flags: Sequence[Flag], text: str, several: bool = False
) -> tuple[list[Path], Flags] | None:
    """A command's folders and flags; prints the help and returns None if that was asked for."""
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
    """The value of a flag that must be given."""
    if flags.get(name, "true") == "true":
        raise UsageError(f"--{name} is missing; give it like --{name}={example}")
    return flags[name]


def destination(flags: Flags) -> Path | None:
    """Where the result goes; None means in place."""
    in_place = switch(flags, "in_place")
    if in_place and "output" in flags:
        raise UsageError("--output and --in_place=true cannot be combined; give one of them")
    if in_place:
        return None
    if "output" not in flags:
        raise UsageError("--output is missing; give --output=DIR, or --in_place=true to replace the dataset")
    return Path(required(flags, "output", "DIR"))


@contextlib.contextmanager
def progress() -> Iterator[OnProgress]:
    """Progress bars for an edit; and a message if the user interrupts it."""
    try:
        with progress_bars() as show:
            yield show
    except KeyboardInterrupt:
        print(
            "yardarm: stopped; the dataset is intact (with --in_place: either unchanged or fully edited)",
            file=sys.stderr,
        )
        raise


@contextlib.contextmanager
def progress_bars() -> Iterator[OnProgress]:
    """Progress bars on a terminal, nothing elsewhere."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bars = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    tasks: dict[str, TaskID] = {}

    def show(what: str, done: int, total: int) -> None:
        if what not in tasks:
            tasks[what] = bars.add_task(what, total=total)
        bars.update(tasks[what], completed=done)

    with bars:
        yield show


def say_result(meta: DatasetMetadata) -> None:
    """Print one line about the resulting dataset."""
    print(f"{meta.root}: {meta.total_episodes} episode(s), {meta.total_frames} frames, {meta.total_tasks} task(s)")


def episode_numbers(text: str, flag: str) -> list[int]:
    """Episode numbers from text like ``1,3,5-8`` or ``[1, 3]``."""
    numbers: list[int] = []
    for word in text.strip().removeprefix("[").removesuffix("]").split(","):
        if match := re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", word):
            first, last = int(match[1]), int(match[2] or match[1])
            if last < first:
                raise UsageError(f"{flag}: '{word.strip()}' ends before it starts; write it like 5-8")
            numbers += range(first, last + 1)
        else:
            raise UsageError(
                f"{flag}: '{word.strip()}' is not an episode number; write them like 1,3,5-8, starting from 0"
            )
    return numbers
