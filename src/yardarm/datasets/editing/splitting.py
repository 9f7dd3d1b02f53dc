"""Splits a dataset into several."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from yardarm.datasets.editing.assembly import assemble
from yardarm.datasets.editing.copying import copy_other_files
from yardarm.datasets.editing.edit import open_dataset
from yardarm.datasets.editing.recipe import OnProgress, Recipe, new_info, pick_episodes
from yardarm.datasets.editing.transaction import building
from yardarm.datasets.metadata import DatasetMetadata, read_metadata
from yardarm.datasets.selection import select_episodes
from yardarm.errors import UsageError

__all__ = ["episodes_of_splits", "split_dataset"]

Splits = Mapping[str, float | Sequence[int]]
# Rounding error of adding and multiplying shares like 0.1.
TINY = 1e-9


def split_dataset(
    root: Path, splits: Splits, output: Path, on_progress: OnProgress | None = None
) -> dict[str, DatasetMetadata]:
    """Write one dataset per name into `output`, with a share of the episodes, in order, or with listed ones."""
    meta = open_dataset(root, output)
    chosen = episodes_of_splits(meta, splits)
    with building(output) as folder:
        for name, numbers in chosen.items():
            copy_other_files(root, folder / name, in_place=False)
            assemble(
                Recipe(new_info(meta.info), pick_episodes(meta, numbers)), folder / name, _named(name, on_progress)
            )
    return {name: read_metadata(output / name) for name in chosen}


def _named(name: str, on_progress: OnProgress | None) -> OnProgress:
    return lambda what, done, total: on_progress and on_progress(f"{name}: {what}", done, total)


def episodes_of_splits(meta: DatasetMetadata, splits: Splits) -> dict[str, Sequence[int]]:
    """The episodes of each part, checked."""
    if not splits:
        raise UsageError("--splits is empty; give parts like train=0.8,val=0.2")
    for name in splits:
        if not re.fullmatch(r"\w[\w.\-]*", name):
            raise UsageError(f"--splits: '{name}' cannot be a folder's name; use letters, digits, '.', '_' and '-'")
    shares = {name: part for name, part in splits.items() if isinstance(part, int | float)}
    if not shares:
        lists = {name: list(part) for name, part in splits.items() if not isinstance(part, int | float)}
        return _checked_lists(meta, lists)
    if len(shares) < len(splits):
        raise UsageError("--splits mixes shares and lists of episodes; give only shares, or only lists")
    return _by_share(meta, shares)


def _checked_lists(meta: DatasetMetadata, lists: Mapping[str, Sequence[int]]) -> dict[str, Sequence[int]]:
    chosen: dict[str, Sequence[int]] = {}
    taken: dict[int, str] = {}
    for name, numbers in lists.items():
        chosen[name] = select_episodes(numbers, meta.total_episodes, f"--splits: {name}")
        for number in numbers:
            if number in taken:
                raise UsageError(f"--splits: episode {number} is in '{taken[number]}' and in '{name}'")
            taken[number] = name
    return chosen


def _by_share(meta: DatasetMetadata, shares: Mapping[str, float]) -> dict[str, Sequence[int]]:
    """Whole episodes, rounded down; if the shares add up to 1, the last part gets the remainder, as in LeRobot."""
    for name, share in shares.items():
        if isinstance(share, bool) or not 0 < share <= 1:
            raise UsageError(f"--splits: the share of '{name}' must be between 0 and 1, got {share}")
    together = sum(shares.values())
    if together > 1 + TINY:
        raise UsageError(f"--splits: the shares add up to {together:g}; they must add up to at most 1")
    total, start, last = meta.total_episodes, 0, list(shares)[-1]
    chosen: dict[str, Sequence[int]] = {}
    for name, share in shares.items():
        stop = start + math.floor(share * total + TINY)
        if name == last and together > 1 - TINY:
            stop = total
        if stop == start:
            raise UsageError(f"--splits: '{name}' would be empty: {share:g} of {total} episodes is less than one")
        chosen[name] = range(start, stop)
        start = stop
    return chosen
