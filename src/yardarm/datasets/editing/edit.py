"""What all edits of one dataset share."""

from __future__ import annotations

from pathlib import Path

from yardarm.datasets.editing.assembly import assemble
from yardarm.datasets.editing.carrying import carry_other_files
from yardarm.datasets.editing.recipe import OnProgress, Recipe
from yardarm.datasets.editing.transaction import building, check_output, put_back
from yardarm.datasets.info import read_info
from yardarm.datasets.metadata import DatasetMetadata, read_metadata
from yardarm.errors import UsageError

__all__ = ["open_dataset", "write_edited"]


def open_dataset(root: Path, output: Path | None, *others: Path) -> DatasetMetadata:
    """Read what is to be edited, after a look at where the result goes."""
    put_back(root)
    check_output(output, root, *others)
    return read_metadata(root)


def write_edited(
    meta: DatasetMetadata, recipe: Recipe, output: Path | None, on_progress: OnProgress | None
) -> DatasetMetadata:
    """Write the result of an edit to its place; `output` None is the dataset's own."""
    target, in_place = output or meta.root, output is None
    place = target.resolve()
    with building(target, in_place) as folder:
        if in_place and read_info(meta.root).total_frames != meta.total_frames:
            raise UsageError(f"{meta.root} has grown since it was read; try again")
        carry_other_files(meta.root, folder, in_place)
        assemble(recipe, folder, on_progress, link=in_place)
        # Whoever stands in the folder stands in the old one afterwards.
        is_inside = Path.cwd().is_relative_to(place)
    return read_metadata(place if is_inside else target)
