"""``yardarm runs``: list runs, trainings and evaluations of several policies."""

from __future__ import annotations

import datetime as dt
import json
import os
import sys
from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Column, Table

from yardarm.cli.flags import listed, read_flags, refuse_unknown, switch, text
from yardarm.cli.runs_commands.common import SWITCHES, Flag, open_workspace
from yardarm.errors import UsageError
from yardarm.workspace import DEFAULT_FOLDER, Filters, Line, Workspace, folder_size, readable_size

__all__ = ["run"]

FILTERS: list[Flag] = [
    ("--search", "", "only those with all of these words in their name, tags, note, policy or tasks"),
    ("--status", "", "running, finished, interrupted, incomplete or damaged"),
    ("--benchmark", "", "metaworld, libero, …"),
    ("--policy", "", "part of the policy's id"),
    ("--tag", "", "only those with this tag"),
    ("--hidden", "false", "list hidden ones, too"),
]
FLAGS = [*FILTERS, ("--json", "", "print everything as JSON")]
HELP = f"""\
List runs, trainings and evaluations of several policies, newest first; what belongs to another is below it.

usage: yardarm runs [DIR] [--flag=value …]

  DIR  the folder that they are in [{DEFAULT_FOLDER}]
{listed(FLAGS)}"""
STATUSES = ("running", "finished", "interrupted", "incomplete", "damaged", "LeRobot")
# Output that does not go to a terminal is not cut off.
WIDE = 240
MOST_TASKS = 2


def run(words: Sequence[str]) -> int:
    """Print the list."""
    plain, flags = read_flags(words, SWITCHES)
    if "help" in flags:
        print(HELP)
        return 0
    refuse_unknown(flags, [name[2:] for name, _, _ in FLAGS], "runs")
    if len(plain) > 1:
        raise UsageError(f"yardarm runs takes one folder, got {len(plain)}")
    status = text(flags, "status") or ""
    if status and status not in STATUSES:
        raise UsageError(f"--status must be one of {', '.join(STATUSES)}, got '{status}'")
    texts = {name: text(flags, name) or "" for name in ("search", "benchmark", "policy", "tag")}
    workspace = open_workspace(plain[0] if plain else None)
    everything = workspace.by_name().values()
    chosen = Filters(status=status, hidden=switch(flags, "hidden"), **texts).chosen(everything)
    if switch(flags, "json"):
        print(json.dumps([_with_size(workspace, line) for line in chosen], indent=1, ensure_ascii=False))
    else:
        width = None if sys.stdout.isatty() else WIDE
        _show(workspace, chosen, len(everything), Console(width=width, highlight=False, markup=False, emoji=False))
    return 0


def _with_size(workspace: Workspace, line: Line) -> Line:
    return {**line, "path": str(workspace.viewed.root / line["name"]), "size": _size(workspace, line)}


def _size(workspace: Workspace, line: Line) -> int:
    return folder_size(workspace.viewed.root / line["name"])


def _show(workspace: Workspace, lines: Sequence[Line], known: int, console: Console) -> None:
    if not lines:
        print(f"no match among {known} runs" if known else f"no runs in {workspace.viewed.root} yet")
        return
    columns = [Column(name, overflow="fold") for name in ("run", "status", "policy", "tasks", "success", "started")]
    columns += [Column("size", justify="right", no_wrap=True), Column("tags", overflow="fold")]
    table = Table(*columns, box=None, header_style="bold", pad_edge=False)
    for line, depth, around in _in_order(lines):
        name = line["name"] if around is None else "  " * depth + os.path.relpath(line["name"], around)
        named = line["labels"]["name"]
        table.add_row(
            f"{name}\n{'  ' * depth}“{named}”" if named else name,
            _status(line),
            _policy(line),
            _tasks(line),
            _success(line),
            _when(line.get("started")),
            readable_size(_size(workspace, line)),
            ", ".join(line["labels"]["tags"]),
        )
    console.print(table)
    hidden = f"; {known - len(lines)} more are hidden or do not match" if known > len(lines) else ""
    console.print(f"\n{len(lines)} in {workspace.viewed.root}{hidden}", soft_wrap=True)


def _in_order(lines: Sequence[Line]) -> Iterator[tuple[Line, int, str | None]]:
    """Newest first, and below each what lies in it, by name; with the depth, and the name of what it lies in."""
    shown = {line["name"] for line in lines}
    inside: dict[str | None, list[Line]] = {}
    for line in sorted(lines, key=lambda line: str(line.get("started") or ""), reverse=True):
        inside.setdefault(line["within"] if line["within"] in shown else None, []).append(line)

    def below(around: str | None, depth: int) -> Iterator[tuple[Line, int, str | None]]:
        own = inside.get(around, [])
        for line in own if around is None else sorted(own, key=lambda line: str(line["name"])):
            yield line, depth, around
            yield from below(line["name"], depth + 1)

    return below(None, 0)


def _status(line: Line) -> str:
    status = str(line["status"])
    if line["kind"] == "training" and "step" in line:
        status += f" {line['step']}/{line['steps']} steps"
    elif line["kind"] == "run" and "planned" in line and status not in ("finished", "LeRobot"):
        status += f" {line['episodes'] + line['errors']}/{line['planned']}"
    return f"{status}, hidden" if line["labels"]["hidden"] else status


def _policy(line: Line) -> str:
    return f"{len(line['policies'])} policies" if "policies" in line else str(line.get("policy") or "")


def _tasks(line: Line) -> str:
    if line["kind"] == "training":
        return str(line.get("dataset") or "")
    tasks = line.get("tasks", ())
    if len(tasks) <= MOST_TASKS:
        return ", ".join(tasks)
    return f"{len(tasks)} of {', '.join(line['benchmarks'])}"


def _success(line: Line) -> str:
    score = line.get("evaluation") if line["kind"] == "training" else line
    if not score or score.get("rate") is None:
        return ""
    interval = f"{100 * score['low']:.1f} – {100 * score['high']:.1f}"
    return f"{100 * score['rate']:.1f}% [{interval}] {score['successes']}/{score['episodes']}"


def _when(started: str | None) -> str:
    try:
        return f"{dt.datetime.fromisoformat(started or '').astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        return ""
