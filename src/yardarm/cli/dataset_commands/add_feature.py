"""``yardarm dataset add-feature``: add a value to every frame."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from yardarm.cli.dataset_commands import common
from yardarm.cli.flags import Flags
from yardarm.datasets import DatasetFeature
from yardarm.datasets.editing import add_feature
from yardarm.errors import UsageError, one_line

__all__ = ["run"]

FLAGS = [
    ("--name", "", "the feature's name, like next.reward"),
    ("--values", "", "a NumPy file with one row per frame of the dataset"),
    (
        "--value",
        "",
        "instead of --values: one value for all frames, like 0.0, [0, 1], true, or text with --dtype=string",
    ),
    ("--dtype", "", "float32, int64, bool, string, … [the values' dtype; float32 for a --value with a decimal point]"),
    ("--shape", "", "the shape of one frame's value, like 7 or 2,3 [the values' shape]"),
    common.OUTPUT,
    common.IN_PLACE,
]
HELP = common.help_text(
    "Add a feature and its statistics. Rows are in the order of the dataset's frames.",
    "add-feature DIR --name=NAME --values=FILE.npy --output=DIR",
    FLAGS,
)


def run(words: Sequence[str]) -> int:
    """Add the feature and print the result."""
    command = common.read_command(words, "add-feature", FLAGS, HELP)
    if command is None:
        return 0
    (root,), flags = command
    name = common.required(flags, "name", "next.reward")
    output = common.destination(flags)
    values = _values(flags)
    rows = 1 if "values" in flags else 0
    feature = DatasetFeature(flags.get("dtype") or _dtype(values), _shape(flags) or values.shape[rows:] or (1,))
    with common.progress() as show:
        result = add_feature(root, name, feature, values, output, show)
    common.say_result(result)
    return 0


def _values(flags: Flags) -> np.ndarray:
    if ("values" in flags) == ("value" in flags):
        raise UsageError("give either --values=FILE.npy with one row per frame, or --value=0.0 for all frames")
    if "value" in flags:
        return np.asarray(_constant(flags["value"], flags.get("dtype")))
    path = Path(common.required(flags, "values", "FILE.npy"))
    try:
        # Memory-mapped, because it may be large.
        values = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise UsageError(f"there is no {path}") from None
    except (ValueError, OSError, EOFError) as error:
        raise UsageError(f"{path} is not a NumPy file of plain values: {one_line(error)}") from error
    if not isinstance(values, np.ndarray):
        raise UsageError(f"{path} holds several arrays; save a single one with numpy.save(FILE.npy, array)")
    return values


def _constant(text: str, dtype: str | None) -> Any:
    if dtype == "string":
        return text
    try:
        value = np.asarray(json.loads(text))
        # An integer is a valid float.
        return value.astype(float) if value.dtype.kind == "i" and (dtype or "").startswith("float") else value
    except ValueError:
        raise UsageError(f"--value must be a number, a list of numbers, true or false, got '{text}'") from None


def _dtype(values: np.ndarray) -> str:
    if values.dtype.kind in "US":
        return "string"
    # JSON numbers are parsed as float64, a precision that the user did not ask for.
    return "float32" if values.dtype == np.float64 and not isinstance(values, np.memmap) else str(values.dtype)


def _shape(flags: Flags) -> tuple[int, ...]:
    text = flags.get("shape", "")
    words = [word for word in re.split(r"[\s,()\[\]]+", text) if word]
    if not all(word.isdecimal() for word in words) or ("shape" in flags and not words):
        raise UsageError(f"--shape must look like 7 or 2,3, got '{text}'")
    return tuple(map(int, words))
