"""``yardarm dataset info``: show what a dataset contains."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Column, Table

from yardarm.cli.dataset_commands import common
from yardarm.cli.flags import switch
from yardarm.datasets.editing import DatasetSummary, describe_dataset
from yardarm.workspace import readable_size

__all__ = ["run"]

FLAGS = [("--json", "", "print everything as JSON")]
HELP = common.help_text(
    "Show a dataset's features, totals, tasks and sizes, and its missing, damaged or leftover files.\n"
    "Does not read the frames.",
    "info DIR [--json]",
    FLAGS,
)
MOST_TASKS = 20
# Output that does not go to a terminal is not cut off.
WIDE = 240


def run(words: Sequence[str]) -> int:
    """Print the summary of a dataset."""
    command = common.read_command(words, "info", FLAGS, HELP)
    if command is None:
        return 0
    (root,), flags = command
    summary = describe_dataset(root)
    if switch(flags, "json"):
        print(json.dumps(summary.to_json(), indent=1, ensure_ascii=False))
    else:
        width = None if sys.stdout.isatty() else WIDE
        _show(summary, Console(width=width, highlight=False, markup=False, emoji=False, soft_wrap=True))
    return 0


def _show(summary: DatasetSummary, console: Console) -> None:
    robot = f", {summary.robot_type}" if summary.robot_type else ""
    console.print(f"{summary.root} ({summary.version}{robot})")
    lasts = duration(summary.frames / summary.fps)
    console.print(f"{summary.episodes} episode(s), {summary.frames} frames: {lasts} at {summary.fps} frames per second")
    if summary.lengths:
        own = summary.lengths
        console.print(f"{own['min']} to {own['max']} frames per episode, median {own['median']:g}")
    parts = ", ".join(f"{name} {readable_size(size)}" for name, size in summary.sizes.items() if size)
    console.print(f"{readable_size(sum(summary.sizes.values()))} on disk: {parts}\n")
    _show_features(summary, console)
    console.print(f"\n{len(summary.tasks)} task(s)")
    for task, episodes in list(summary.tasks.items())[:MOST_TASKS]:
        console.print(f"  {task} ({episodes} episode(s))")
    if len(summary.tasks) > MOST_TASKS:
        console.print(f"  and {len(summary.tasks) - MOST_TASKS} more; --json lists them all")
    for path in summary.missing:
        console.print(f"missing: {path}")
    for fault in summary.damaged:
        console.print(f"damaged: {fault}")
    for path in summary.leftovers:
        console.print(f"leftover: {path}")


def _show_features(summary: DatasetSummary, console: Console) -> None:
    first = Column("feature", no_wrap=True)
    table = Table(first, "dtype", "shape", "names", "codec", box=None, header_style="bold", pad_edge=False)
    for name, feature in summary.features.items():
        shape = "×".join(map(str, feature["shape"]))
        # The names of an image's axes (height, width, channels) add nothing.
        names = None if feature["dtype"] in ("image", "video") else feature["names"]
        shown = ", ".join(map(str, names)) if isinstance(names, list) else str(names or "")
        table.add_row(name, feature["dtype"], shape, shown, ", ".join(summary.codecs.get(name, ())))
    console.print(table)


def duration(seconds: float) -> str:
    """A time in a readable unit."""
    if seconds < 60:
        return f"{seconds:.1f} seconds"
    return f"{seconds / 60:.1f} minutes" if seconds < 3600 else f"{seconds / 3600:.1f} hours"
