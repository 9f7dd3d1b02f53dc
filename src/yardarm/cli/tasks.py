"""``yardarm tasks``: list what can be evaluated, without starting a simulator."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from yardarm.errors import UsageError
from yardarm.tasks import BENCHMARKS

__all__ = ["run"]

HELP = """\
List benchmarks, or the groups, ids, names and instructions of one benchmark's tasks.

usage: yardarm tasks [BENCHMARK]"""


def run(words: Sequence[str]) -> int:
    """Print benchmarks, or one benchmark's tasks."""
    if any(word in ("-h", "--help") for word in words):
        print(HELP)
        return 0
    if len(words) > 1:
        raise UsageError(f"yardarm tasks takes one benchmark, got {' '.join(words)}")
    if words:
        _print_tasks(words[0])
    else:
        _print_benchmarks()
    return 0


def _print_benchmarks() -> None:
    for name in BENCHMARKS.names():
        catalogue = BENCHMARKS.load(name).catalogue()
        distinct = {task.name for task in catalogue}
        groups = dict.fromkeys(task.group for task in catalogue)
        print(f"{name}: {len(distinct)} tasks; groups {', '.join(groups)}; `yardarm tasks {name}` lists them")


def _print_tasks(name: str) -> None:
    console = Console(highlight=False)
    tasks = BENCHMARKS.load(name).catalogue()
    if not console.is_terminal:
        for task in tasks:
            print(f"{task.group}\t{task.index}\t{task.name}\t{task.instruction}")
        return
    table = Table("group", "id", "task", "instruction", box=None, header_style="bold")
    for position, task in enumerate(tasks):
        first = position == 0 or tasks[position - 1].group != task.group
        if first and position:
            table.add_row()
        table.add_row(task.group if first else "", str(task.index), task.name, task.instruction)
    console.print(table)
