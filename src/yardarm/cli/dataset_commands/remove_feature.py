"""``yardarm dataset remove-feature``: a dataset without some of its features."""

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
    "Remove features; with a camera its videos go.", "remove-feature DIR --names=NAME,NAME --output=DIR", FLAGS
)


def run(words: Sequence[str]) -> int:
    """Remove them, and say what there is."""
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
