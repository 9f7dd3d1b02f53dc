"""`meta/info.json`: a dataset's features, totals and file layout."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from yardarm.contents import anything, count, list_of, map_of, number, optional, positive, read_json, record, text
from yardarm.datasets.features import VISUAL, Schema, schema_from_json, schema_to_json
from yardarm.datasets.path_template import check_template
from yardarm.errors import DatasetFault, UsageError
from yardarm.files import write_json

__all__ = ["VERSION", "DatasetInfo", "read_info", "write_info"]

VERSION = "v3.0"
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
# Version 2 has one file per episode, and names it by the episode.
PLACES = {"chunk_index", "file_index", "episode_chunk", "episode_index"}
# More than any real frame has, and few enough to list their names.
MOST_NUMBERS = 1_000_000
FEATURE = record(
    {"dtype": text, "shape": list_of(count)},
    {"info": optional(map_of(anything)), "video_info": optional(map_of(anything))},
)


def feature(value: Any, place: str) -> None:
    """A feature small enough for memory."""
    FEATURE(value, place)
    if value["dtype"] not in VISUAL and math.prod(value["shape"]) > MOST_NUMBERS:
        raise ValueError(f"{place}.shape has more than {MOST_NUMBERS} numbers")


INFO = record(
    {"fps": number, "features": map_of(feature)},
    {
        "robot_type": optional(text),
        "total_episodes": count,
        "total_frames": count,
        "total_tasks": count,
        "chunks_size": positive,
        "data_files_size_in_mb": number,
        "video_files_size_in_mb": number,
        "codebase_version": text,
        "data_path": text,
        "video_path": optional(text),
        "splits": optional(map_of(anything)),
    },
)


@dataclass(frozen=True, slots=True)
class DatasetInfo:
    """A dataset's features and totals, and where its files are."""

    fps: int
    features: Schema
    robot_type: str | None = None
    total_episodes: int = 0
    total_frames: int = 0
    total_tasks: int = 0
    chunks_size: int = 1000
    data_files_size_in_mb: float = 100
    video_files_size_in_mb: float = 200
    codebase_version: str = VERSION
    data_path: str = DATA_PATH
    video_path: str | None = VIDEO_PATH
    splits: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    """Entries of other programs, which are kept."""

    def __post_init__(self) -> None:
        for name in ("fps", "chunks_size", "data_files_size_in_mb", "video_files_size_in_mb"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                raise UsageError(f"{name} must be a number above 0, got {value!r}")
        check_template("data_path", self.data_path, PLACES)
        if self.video_path is not None:
            check_template("video_path", self.video_path, {*PLACES, "video_key"})
        elif self.video_keys:
            raise UsageError(f"video_path is missing, although '{self.video_keys[0]}' is stored in videos")

    @property
    def video_keys(self) -> tuple[str, ...]:
        """Features stored in video files."""
        return tuple(name for name, feature in self.features.items() if feature.is_video)

    @property
    def image_keys(self) -> tuple[str, ...]:
        """Pictures stored in the table."""
        return tuple(name for name, feature in self.features.items() if feature.dtype == "image")

    @property
    def camera_keys(self) -> tuple[str, ...]:
        """All pictures."""
        return tuple(name for name, feature in self.features.items() if feature.is_visual)

    def grown(self, episodes: int, frames: int, tasks: int) -> DatasetInfo:
        """The same description with new totals."""
        return replace(
            self,
            total_episodes=episodes,
            total_frames=frames,
            total_tasks=tasks,
            splits={"train": f"0:{episodes}"},
        )

    def to_json(self) -> dict[str, Any]:
        """The content of `info.json`."""
        own = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name != "more"}
        own["features"] = schema_to_json(self.features)
        own["splits"] = dict(self.splits)
        first = {"codebase_version": own.pop("codebase_version"), "fps": own.pop("fps")}
        return {**first, **own, **self.more}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> DatasetInfo:
        """Read the content of an `info.json`."""
        known = {entry.name for entry in fields(cls)} - {"more"}
        own = {name: value for name, value in content.items() if name in known}
        own["features"] = schema_from_json(content["features"])
        own["splits"] = content.get("splits") or {}
        return cls(**own, more={name: value for name, value in content.items() if name not in known})


def read_info(root: Path) -> DatasetInfo:
    """Read a dataset's `meta/info.json`, or say why the folder is not a dataset."""
    path = root / "meta" / "info.json"
    try:
        content = read_json(path)
        INFO(content, "")
        return DatasetInfo.from_json(content)
    except (FileNotFoundError, NotADirectoryError):
        if not root.exists():
            raise UsageError(f"there is no dataset {root}") from None
        raise UsageError(f"{root} is not a LeRobot dataset: it has no meta/info.json") from None
    except (ValueError, OSError, UsageError) as error:
        raise DatasetFault(f"{path} is damaged: {error}") from error


def write_info(root: Path, info: DatasetInfo) -> None:
    """Replace a dataset's `meta/info.json`; from then on, readers see the episodes that it counts."""
    write_json(root / "meta" / "info.json", info.to_json())
