"""Merges datasets."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from yardarm.datasets.editing.assembly import assemble
from yardarm.datasets.editing.edit import open_dataset
from yardarm.datasets.editing.recipe import OnProgress, Recipe, new_info, pick_episodes
from yardarm.datasets.editing.transaction import building
from yardarm.datasets.features import DatasetFeature
from yardarm.datasets.metadata import DatasetMetadata, read_metadata
from yardarm.errors import UsageError

__all__ = ["merge_datasets"]


def merge_datasets(
    roots: Sequence[Path], output: Path, robot_type: str | None = None, on_progress: OnProgress | None = None
) -> DatasetMetadata:
    """Write the episodes of all datasets to a new one, in full-size files; `robot_type` is needed if theirs differ."""
    metas = _read(roots, output)
    first = metas[0]
    for other in metas[1:]:
        _check_fit(first, other)
    robots = dict.fromkeys(meta.robot_type for meta in metas)
    if robot_type is None and len(robots) > 1:
        raise UsageError(
            f"the datasets have different robots ({', '.join(map(str, robots))}); "
            "if they belong together, name the result's robot with --robot_type"
        )
    features = {
        name: feature.with_info(_common([meta.info.features[name].info for meta in metas]))
        if feature.is_video
        else feature
        for name, feature in first.info.features.items()
    }
    info = replace(new_info(first.info, features), robot_type=robot_type or first.robot_type)
    picks = [pick for meta in metas for pick in pick_episodes(meta)]
    with building(output) as folder:
        assemble(Recipe(info, picks), folder, on_progress)
    return read_metadata(output)


def _read(roots: Sequence[Path], output: Path) -> list[DatasetMetadata]:
    if not roots:
        raise UsageError("which datasets? Give their folders")
    places = [root.resolve() for root in roots]
    twice = [root for number, root in enumerate(roots) if places[number] in places[:number]]
    if twice:
        raise UsageError(f"{twice[0]} is named twice")
    return [open_dataset(root, output) for root in roots]


def _check_fit(first: DatasetMetadata, other: DatasetMetadata) -> None:
    """Raise if two datasets cannot be merged, and say exactly why."""
    if first.fps != other.fps:
        raise UsageError(
            f"{first.root} has {first.fps} frames per second, but {other.root} has {other.fps}; only datasets of one "
            "rate can be merged, so record them at the same rate"
        )
    for one, another in ((first, other), (other, first)):
        for name in one.info.features:
            if name not in another.info.features:
                removal = shlex.join(["yardarm", "dataset", "remove-feature", str(one.root), f"--names={name}"])
                raise UsageError(
                    f"{one.root} has the feature '{name}', but {another.root} does not; `{removal} --output=DIR` makes "
                    "a copy without it"
                )
    for name, feature in first.info.features.items():
        _check_feature(name, feature, other.info.features[name], first.root, other.root)


def _check_feature(name: str, one: DatasetFeature, another: DatasetFeature, root: Path, other: Path) -> None:
    # The names of a picture's axes have several spellings that mean the same.
    compared = ("dtype", "shape") if one.is_visual else ("dtype", "shape", "names")
    for what in compared:
        ours, theirs = getattr(one, what), getattr(another, what)
        if ours != theirs and not (what == "names" and (ours is None or theirs is None)):
            raise UsageError(f"the feature '{name}' has the {what} {ours} in {root}, but {theirs} in {other}")
    if one.is_depth != another.is_depth:
        raise UsageError(f"the feature '{name}' is a depth map in only one of {root} and {other}")


def _common(infos: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What all videos have in common; as in LeRobot, null where they differ."""
    agreed: dict[str, Any] = {}
    for name in dict.fromkeys(name for info in infos for name in info):
        values = [info.get(name) for info in infos]
        empty: Any = {} if name == "video.extra_options" else None
        agreed[name] = values[0] if all(value == values[0] for value in values) else empty
    return agreed
