"""``yardarm tasks``: list benchmarks and tasks without starting a simulator; or draw the tasks."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from yardarm.cli.flags import read_flags, refuse_unknown
from yardarm.envs import ProcessPool, check_installed, for_workers_of, interpreter_for
from yardarm.errors import UsageError
from yardarm.machine import usable_cores
from yardarm.replay import first_pictures
from yardarm.report import contact_sheet
from yardarm.tasks import BENCHMARKS, TaskSpec

__all__ = ["run"]

HELP = """\
List all benchmarks, or one benchmark's tasks with their groups, ids, names and instructions.

usage: yardarm tasks [BENCHMARK] [--images[=DIR]]

  --images  draw the tasks instead: one sheet of pictures per group, in DIR [outputs/tasks/BENCHMARK]

examples:
  yardarm tasks metaworld
  yardarm tasks libero --images=pictures"""
FLAGS = ("images", "help")
TIME_LIMIT_S = 300.0


def run(words: Sequence[str]) -> int:
    """List benchmarks, or list or draw one benchmark's tasks."""
    plain, flags = read_flags(words)
    if "help" in flags:
        print(HELP)
        return 0
    refuse_unknown(flags, FLAGS, "tasks")
    if len(plain) > 1:
        raise UsageError(f"yardarm tasks takes one benchmark, got {' '.join(plain)}")
    if "images" in flags:
        if not plain:
            raise UsageError("--images needs a benchmark: yardarm tasks BENCHMARK --images")
        given = flags["images"]
        _draw_tasks(plain[0], Path("outputs/tasks") / plain[0] if given == "true" else Path(given))
    elif plain:
        _print_tasks(plain[0])
    else:
        _print_benchmarks()
    return 0


def _print_benchmarks() -> None:
    for name in BENCHMARKS.names():
        benchmark = BENCHMARKS.load(name)
        catalogue = benchmark.catalogue()
        if not catalogue:
            print(f"{name}: {benchmark.about}")
            continue
        about = f" ({benchmark.about})" if benchmark.about else ""
        distinct = {task.name for task in catalogue}
        groups = dict.fromkeys(task.group for task in catalogue)
        print(f"{name}: {len(distinct)} tasks{about}; groups {', '.join(groups)}; `yardarm tasks {name}` lists them")


def _print_tasks(name: str) -> None:
    console = Console(highlight=False)
    tasks = _catalogue(name)
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


def _draw_tasks(name: str, folder: Path) -> None:
    """Draw each task once, on the sheet of its first group; groups whose tasks are all drawn elsewhere get none."""
    catalogue = _catalogue(name)
    if not all(task.env.cameras for task in catalogue):
        raise UsageError(f"--images: '{name}' has tasks without a camera, which cannot be drawn")
    benchmark = BENCHMARKS.load(name)
    check_installed(benchmark)
    catalogue = for_workers_of(interpreter_for(benchmark), catalogue)
    first: dict[str, TaskSpec] = {}
    for task in catalogue:
        first.setdefault(task.name, task)
    tasks = list(first.values())
    pictures: dict[str, np.ndarray] = {}
    console = Console(stderr=True)
    pool = ProcessPool(min(usable_cores(), len(tasks)), time_limit_s=TIME_LIMIT_S)
    progress = Progress(console=console, transient=True, disable=not console.is_terminal)
    with contextlib.closing(pool), progress:
        pool.choose_renderer(tasks)
        bar = progress.add_task("drawing", total=len(tasks))
        for task, picture in first_pictures(tasks, pool):
            pictures[task.name] = picture
            progress.advance(bar)
    folder.mkdir(parents=True, exist_ok=True)
    for group in dict.fromkeys(task.group for task in tasks):
        own = [task for task in tasks if task.group == group]
        path = folder / f"{group}.jpg"
        captions = [f"{task.index}  {task.name.replace('_', ' ')}" for task in own]
        sheet = contact_sheet([(pictures[task.name], caption) for task, caption in zip(own, captions, strict=True)])
        sheet.save(path, quality=85)
        print(f"{path}: {len(own)} task(s)")


def _catalogue(name: str) -> tuple[TaskSpec, ...]:
    benchmark = BENCHMARKS.load(name)
    tasks: tuple[TaskSpec, ...] = benchmark.catalogue()
    if not tasks:
        raise UsageError(f"'{name}' has no fixed list of tasks: it is {benchmark.about}")
    return tasks
