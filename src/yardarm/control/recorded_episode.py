"""An episode of a dataset, as actions of a robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from yardarm.errors import UsageError

if TYPE_CHECKING:  # reading a dataset imports much; whoever plays none needs none of it
    from yardarm.datasets import DatasetMetadata

__all__ = ["Numbers", "RecordedEpisode", "read_episode"]

ACTION, STATE = "action", "observation.state"
Numbers = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class RecordedEpisode:
    """What was sent, and where the robot was, in each frame."""

    index: int
    fps: float
    actions: Sequence[Numbers]
    states: Sequence[Numbers] | None
    """None: the dataset does not have them."""


def read_episode(repo_id: str, root: str | None, index: int) -> RecordedEpisode:
    """Read an episode's numbers, and no pictures; from the Hub, they are downloaded."""
    from yardarm.datasets import find_dataset, read_metadata

    meta = read_metadata(find_dataset(repo_id, root, episodes=[index], videos=False))
    if not 0 <= index < len(meta.episodes):
        raise UsageError(f"there is no episode {index}; the dataset has episodes 0 to {len(meta.episodes) - 1}")
    if ACTION not in meta.info.features:
        raise UsageError(f"the dataset {meta.root} has no actions; there is nothing to play")
    return RecordedEpisode(index, meta.fps, _numbers(meta, index, ACTION) or (), _numbers(meta, index, STATE))


def _numbers(meta: DatasetMetadata, index: int, feature: str) -> list[Numbers] | None:
    from yardarm.datasets.browsing import dimension_names, read_frames

    if feature not in meta.info.features:
        return None
    names = dimension_names(meta.info.features[feature])
    values = read_frames(meta, [meta.episodes[index]], [feature])[feature]
    return [dict(zip(names, map(float, row), strict=True)) for row in values.reshape(len(values), -1)]
