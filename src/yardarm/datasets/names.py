"""Names for the numbers of a feature."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from yardarm.datasets.features import DatasetFeature

__all__ = ["dimension_names"]

COLOURS = ("red", "green", "blue")


def dimension_names(feature: DatasetFeature) -> list[str]:
    """A name for each number of a feature; unnamed ones are named by their index."""
    if feature.is_visual:
        return list(COLOURS)
    size = math.prod(feature.shape)
    given = _listed(feature.names)
    if given is not None and len(given) == size:
        return given
    if feature.is_scalar:
        return [""]
    return [f"[{', '.join(map(str, place))}]" for place in product(*map(range, feature.shape))]


def _listed(names: Any) -> list[str] | None:
    """LeRobot stores names as a list, as a list under a word like "motors", or as a map from names to indices."""
    if isinstance(names, Mapping):
        values = list(names.values())
        if values and all(isinstance(value, int) for value in values):
            return [str(name) for name, _ in sorted(names.items(), key=lambda pair: pair[1])]
        if len(values) == 1:
            return _listed(values[0])
        parts = [_listed(value) for value in values]
        return [f"{word} {name}" for word, part in zip(names, parts, strict=True) for name in part or ()]
    return [str(name) for name in names] if isinstance(names, Sequence) and not isinstance(names, str) else None
