"""``yardarm dataset split``: split a dataset into several."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from yardarm.cli.dataset_commands import common
from yardarm.datasets.editing import split_dataset
from yardarm.errors import UsageError

__all__ = ["run"]

EXAMPLE = "train=0.8,val=0.2"
FLAGS = [
    (
        "--splits",
        "",
        f"each name with its share of the episodes ({EXAMPLE}), or with their numbers (train=0-79,val=80-99)",
    ),
    ("--output", "", "the folder for the results; it must not exist yet"),
]
HELP = common.help_text(
    "Split a dataset into one per name, in the folder --output. Shares are taken in the order of the episodes.\n"
    """--splits also accepts JSON: '{"train": 0.8, "val": 0.2}' or '{"train": [0, 1], "val": [2]}'.""",
    f"split DIR --splits={EXAMPLE} --output=DIR",
    FLAGS,
)


def run(words: Sequence[str]) -> int:
    """Split the dataset and print the results."""
    command = common.read_command(words, "split", FLAGS, HELP)
    if command is None:
        return 0
    (root,), flags = command
    splits = read_splits(common.required(flags, "splits", EXAMPLE))
    output = Path(common.required(flags, "output", "DIR"))
    with common.progress() as show:
        results = split_dataset(root, splits, output, show)
    for result in results.values():
        common.say_result(result)
    return 0


def read_splits(text: str) -> dict[str, float | list[int]]:
    """Names with their shares, or with their lists of episodes."""
    if text.lstrip().startswith("{"):
        return _from_json(text)
    parts: dict[str, str] = {}
    name = ""
    for word in text.split(","):
        before, equals, value = word.partition("=")
        if equals:
            name = before.strip()
            if name in parts:
                raise UsageError(f"--splits names '{name}' twice")
            parts[name] = value
        elif name:
            parts[name] += f",{word}"
        else:
            raise UsageError(f"--splits: '{text}' has no names; write it like {EXAMPLE}")
    return {name: _part(name, value) for name, value in parts.items()}


def _part(name: str, value: str) -> float | list[int]:
    if "." in value:
        try:
            return float(value)
        except ValueError:
            raise UsageError(f"--splits: '{value}' is not a share for '{name}'; write it like {EXAMPLE}") from None
    return common.episode_numbers(value, f"--splits: {name}")


def _from_json(text: str) -> dict[str, float | list[int]]:
    try:
        content = json.loads(text)
    except ValueError as error:
        raise UsageError(f"--splits is not valid JSON: {error}") from None
    for name, part in content.items():
        is_list = isinstance(part, list) and all(isinstance(number, int) for number in part)
        if isinstance(part, bool) or not (is_list or isinstance(part, int | float)):
            raise UsageError(f"--splits: '{name}' must be a share or a list of episode numbers, got {part!r}")
    return dict(content)
