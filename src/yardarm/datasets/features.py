"""The features of a dataset's frames, as `meta/info.json` describes them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from yardarm.errors import UsageError

__all__ = ["INDEX_FEATURES", "DatasetFeature", "Schema", "check_features", "schema_from_json", "schema_to_json"]

VISUAL = ("image", "video")
NUMERIC = (
    *("float16", "float32", "float64", "bool"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
)
MOST_AXES = 5


@dataclass(frozen=True, slots=True)
class DatasetFeature:
    """One value per frame. A picture's shape is (height, width, channels)."""

    dtype: str
    """A number's type, or "string", "image" (a PNG in the table; 16 bits for depth), "video" (a frame of an MP4)."""
    shape: tuple[int, ...]
    names: Any = None
    info: Mapping[str, Any] = field(default_factory=dict)
    """For videos: codec, rate, size."""

    @property
    def is_video(self) -> bool:
        """Whether it is stored in video files, not in the table."""
        return self.dtype == "video"

    @property
    def is_visual(self) -> bool:
        """Whether it is a picture."""
        return self.dtype in VISUAL

    @property
    def is_numeric(self) -> bool:
        """Whether it is a number, or an array of numbers."""
        return self.dtype in NUMERIC

    @property
    def is_depth(self) -> bool:
        """Whether a picture's values are distances."""
        return bool(self.info.get("is_depth_map") or self.info.get("video.is_depth_map"))

    @property
    def is_readable(self) -> bool:
        """Whether items can contain it; depth in videos and LeRobot's annotations are not supported yet."""
        return self.dtype == "string" or self.is_numeric or (self.is_visual and not (self.is_depth and self.is_video))

    @property
    def is_scalar(self) -> bool:
        """Whether the table stores it as a single value."""
        return self.shape == (1,)

    @property
    def size(self) -> tuple[int, int]:
        """A picture's height and width, for either order of its axes."""
        if self._channels_first():
            return self.shape[1], self.shape[2]
        return self.shape[0], self.shape[1]

    def _channels_first(self) -> bool:
        return self.shape[0] in (1, 3) and self.shape[2] not in (1, 3)

    def with_info(self, info: Mapping[str, Any]) -> DatasetFeature:
        """The same feature with this information about its video."""
        return replace(self, info=dict(info))

    def to_json(self) -> dict[str, Any]:
        """Its entry in `info.json`."""
        content: dict[str, Any] = {"dtype": self.dtype, "shape": list(self.shape), "names": self.names}
        return {**content, "info": dict(self.info)} if self.info else content

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> DatasetFeature:
        """Read an entry of `info.json`."""
        info = content.get("info") or content.get("video_info") or {}
        return cls(str(content["dtype"]), tuple(int(side) for side in content["shape"]), content.get("names"), info)


Schema = Mapping[str, DatasetFeature]

# Features that every frame has; the writer fills them in.
INDEX_FEATURES: Schema = {
    "timestamp": DatasetFeature("float32", (1,)),
    "frame_index": DatasetFeature("int64", (1,)),
    "episode_index": DatasetFeature("int64", (1,)),
    "index": DatasetFeature("int64", (1,)),
    "task_index": DatasetFeature("int64", (1,)),
}


def schema_from_json(content: Mapping[str, Mapping[str, Any]]) -> dict[str, DatasetFeature]:
    """Read the features of an `info.json`."""
    return {name: DatasetFeature.from_json(feature) for name, feature in content.items()}


def schema_to_json(schema: Schema) -> dict[str, Any]:
    """The features' entries in `info.json`."""
    return {name: feature.to_json() for name, feature in schema.items()}


def check_features(schema: Schema) -> None:
    """Reject features that LeRobot or a file system could not store, before anything is recorded."""
    if not schema:
        raise UsageError("a dataset needs at least one feature, like 'action'")
    for name, feature in schema.items():
        _check_name(name)
        _check_shape(name, feature)


def _check_name(name: str) -> None:
    if not name:
        raise UsageError("a feature's name must not be empty")
    if name in INDEX_FEATURES:
        raise UsageError(f"the feature '{name}' is filled in for every frame; leave it out")
    if name == "task":
        raise UsageError("'task' is given with each frame and is not a feature; leave it out of the features")
    if re.search(r"[^\w.\-]", name) or name.startswith("."):
        better = re.sub(r"[^\w.\-]", ".", name).strip(".")
        raise UsageError(
            f"the feature name '{name}' cannot be used: names are letters, digits, '.', '_' and '-' "
            f"(columns and folders are named after them); call it '{better or 'feature'}'"
        )


def _check_shape(name: str, feature: DatasetFeature) -> None:
    shape, dtype = feature.shape, feature.dtype
    known = (*NUMERIC, *VISUAL, "string")
    if dtype not in known:
        raise UsageError(f"the feature '{name}' has the dtype '{dtype}'; it must be one of {', '.join(known)}")
    if not shape or any(side < 1 for side in shape):
        raise UsageError(f"the feature '{name}' has the shape {shape}; a single number has the shape (1,)")
    if feature.is_visual and (len(shape) != 3 or not {shape[0], shape[2]} & {1, 3}):
        raise UsageError(f"the picture '{name}' has the shape {shape}; it must be (height, width, 3)")
    if feature.is_depth and (feature.is_video or shape[2] != 1):
        raise UsageError(
            f"'{name}' is a depth map; it is written as 16-bit pictures only: dtype image, shape (height, width, 1), "
            f"not {dtype}, {shape}"
        )
    if len(shape) > MOST_AXES:
        raise UsageError(f"the feature '{name}' has {len(shape)} axes; at most {MOST_AXES} are possible")
    if dtype == "string" and shape != (1,):
        raise UsageError(f"the feature '{name}' of dtype string has the shape {shape}; it must be (1,)")


def as_array(name: str, feature: DatasetFeature, value: Any) -> np.ndarray:
    """Convert a frame's value to the array that is stored, or raise if it does not fit the feature."""
    array = np.asarray(value)
    if feature.is_depth:
        return _as_distances(name, feature, array)
    if feature.is_visual:
        return _as_picture(name, feature, array)
    check_numbers(name, feature, array)
    if array.shape != feature.shape and not (feature.is_scalar and array.shape == ()):
        raise UsageError(f"'{name}' must have the shape {feature.shape}, got {array.shape}")
    return array.astype(feature.dtype).reshape(feature.shape)


def check_numbers(name: str, feature: DatasetFeature, array: np.ndarray) -> None:
    """Reject numbers that storing would change: fractions as integers, or integers that do not fit."""
    wanted = np.dtype(feature.dtype)
    if array.dtype.kind in "iu" and wanted.kind in "iu":
        limits = np.iinfo(wanted)
        if array.size and (array.min() < limits.min or array.max() > limits.max):
            raise UsageError(f"'{name}' has {array.min()} to {array.max()}, which {feature.dtype} cannot hold")
    elif not np.can_cast(array.dtype, wanted, casting="same_kind"):
        raise UsageError(f"'{name}' must be {feature.dtype}, got {array.dtype}")


def _as_distances(name: str, feature: DatasetFeature, array: np.ndarray) -> np.ndarray:
    """Distances as (height, width, 1) of 16 bits; nothing is rounded or clipped."""
    if array.shape not in (feature.shape, feature.shape[:2]):
        raise UsageError(f"the depth map '{name}' must have the shape {feature.shape}, got {array.shape}")
    if array.dtype != np.uint16:
        raise UsageError(f"the depth map '{name}' must be uint16, in millimetres; got {array.dtype}")
    return array.reshape(feature.shape).copy(order="C")


def _as_picture(name: str, feature: DatasetFeature, array: np.ndarray) -> np.ndarray:
    """A picture as (height, width, 3) bytes, for either order of its axes."""
    height, width = feature.size
    if array.shape == (3, height, width) and array.shape != (height, width, 3):
        array = array.transpose(1, 2, 0)
    if array.shape != (height, width, 3):
        raise UsageError(f"the picture '{name}' must have the shape {(height, width, 3)}, got {array.shape}")
    if array.dtype == np.uint8:
        return array.copy(order="C")  # cameras and simulators reuse the memory for the next picture
    if array.dtype.kind != "f" or array.min() < 0 or array.max() > 1:
        raise UsageError(f"the picture '{name}' must be uint8, or floats between 0 and 1; got {array.dtype}")
    return np.ascontiguousarray((array * 255).round().astype(np.uint8))
