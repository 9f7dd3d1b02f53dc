"""``yardarm dataset remove-feature``: remove features or cameras."""

from __future__ import annotations

from collections.abc import Sequence

from yardarm.cli.dataset_commands import common
from yardarm.datasets.editing import remove_features

__all__ = ["run"]

FLAGS = [
    ("--names", "", "the features to remove, like observation.images.top,next.done"),
    common.OUTPUT,
    common.IN_PLACE,
]
HELP = common.help_text(
    "Remove features. Removing a camera deletes its videos.", "remove-feature DIR --names=NAME,NAME --output=DIR", FLAGS
)


def run(words: Sequence[str]) -> int:
    """Remove the features and print the result."""
    command = common.read_command(words, "remove-feature", FLAGS, HELP)
    if command is None:
        return 0
    (root,), flags = command
    given = common.required(flags, "names", "observation.images.top").strip("[]").split(",")
    names = [name.strip(" '\"") for name in given if name.strip()]
    output = common.destination(flags)
    with common.progress() as show:
        result = remove_features(root, names, output, show)
    common.say_result(result)
    return 0
