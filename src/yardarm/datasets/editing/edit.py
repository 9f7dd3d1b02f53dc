"""The start and the end of every edit of one dataset."""

from __future__ import annotations

from pathlib import Path

from yardarm.datasets.editing.assembly import assemble
from yardarm.datasets.editing.copying import copy_other_files
from yardarm.datasets.editing.recipe import OnProgress, Recipe
from yardarm.datasets.editing.transaction import building, check_output, restore_original
from yardarm.datasets.info import read_info
from yardarm.datasets.metadata import DatasetMetadata, read_metadata
from yardarm.errors import UsageError

__all__ = ["open_dataset", "write_edited"]


def open_dataset(root: Path, output: Path | None, *others: Path) -> DatasetMetadata:
    """Check where the result goes, then read the dataset to edit."""
    restore_original(root)
    check_output(output, root, *others)
    return read_metadata(root)


def write_edited(
    meta: DatasetMetadata, recipe: Recipe, output: Path | None, on_progress: OnProgress | None
) -> DatasetMetadata:
    """Write the result of an edit; `output=None` edits in place."""
    target, in_place = output or meta.root, output is None
    place = target.resolve()
    with building(target, in_place) as folder:
        if in_place and read_info(meta.root).total_frames != meta.total_frames:
            raise UsageError(f"{meta.root} has grown since it was read; try again")
        copy_other_files(meta.root, folder, in_place)
        assemble(recipe, folder, on_progress, link=in_place)
        # If the current folder is inside the dataset, it will be the old one afterwards.
        is_inside = Path.cwd().is_relative_to(place)
    return read_metadata(place if is_inside else target)
