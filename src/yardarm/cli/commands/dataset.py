"""``yardarm dataset``: inspect, view and edit LeRobot datasets."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.cli.groups import command_lines, run_group

__all__ = ["COMMANDS", "run"]

# Each is a file: `add-feature` is cli/dataset_commands/add_feature.py.
COMMANDS = {
    "info": "show features, totals, tasks, sizes, and missing or leftover files",
    "view": "show datasets in the browser",
    "check": "look for idle, jumping, duplicate and other bad episodes",
    "delete": "delete episodes",
    "trim": "cut frames off the start or end of episodes",
    "relabel": "give episodes another instruction",
    "split": "split a dataset into several, such as train and val",
    "merge": "concatenate datasets",
    "add-feature": "add a value to every frame",
    "remove-feature": "remove features or cameras",
    "rename-task": "reword an instruction, or merge two",
    "recompute-stats": "recompute the statistics from all frames",
    "reencode": "encode all videos again",
    "convert": "convert a dataset from version 2.1 or 2.0 to 3.0",
}


def run(words: Sequence[str]) -> int:
    """Run the command that the first word names."""
    return run_group("dataset", words, COMMANDS, _usage())


def _usage() -> str:
    return (
        "Inspect, view and edit LeRobot datasets (v3.0; v2.1 can be read).\n\n"
        f"usage: yardarm dataset COMMAND DIR … [--flag=value …]\n\n{command_lines(COMMANDS)}\n\n"
        "An edit writes a new dataset to --output=DIR; with --in_place=true the new dataset replaces the old one once\n"
        "it is complete. `yardarm dataset COMMAND --help` explains a command."
    )
