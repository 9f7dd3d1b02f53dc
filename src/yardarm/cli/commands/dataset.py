"""``yardarm dataset``: look into LeRobot datasets, and edit them."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from yardarm.errors import UsageError, nearest

__all__ = ["COMMANDS", "run"]

# `add-feature` is in `cli/dataset_commands/add_feature.py`, and so on.
COMMANDS = {
    "info": "show features, totals, tasks, sizes, and what is left over",
    "view": "look at datasets in the browser",
    "delete": "delete episodes",
    "split": "split a dataset into several: train, val",
    "merge": "put datasets one after the other",
    "add-feature": "give every frame another value",
    "remove-feature": "remove features, cameras too",
    "rename-task": "give an instruction other words, or unite two",
    "recompute-stats": "count all frames again",
    "reencode": "encode all videos anew",
    "convert": "bring a dataset of version 2.1 or 2.0 to 3.0",
}


def run(words: Sequence[str]) -> int:
    """Find the command and run it."""
    if not words or words[0] in ("-h", "--help", "help"):
        print(_usage())
        return 0
    # LeRobot's operations have underscores.
    name = words[0].replace("_", "-")
    if name not in COMMANDS:
        raise UsageError(
            f"unknown command 'dataset {words[0]}'{nearest(name, COMMANDS)} `yardarm dataset --help` lists all"
        )
    return int(importlib.import_module(f"yardarm.cli.dataset_commands.{name.replace('-', '_')}").run(words[1:]))


def _usage() -> str:
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"  {name:<{width}}  {text}" for name, text in COMMANDS.items())
    return (
        "Look into LeRobot datasets (v3.0; v2.1 is read, too), and edit them.\n\n"
        f"usage: yardarm dataset COMMAND DIR … [--flag=value …]\n\n{commands}\n\n"
        "An edit writes a new dataset to --output=DIR; with --in_place=true the new one takes the place of the\n"
        "old one when it is complete. `yardarm dataset COMMAND --help` explains a command."
    )
