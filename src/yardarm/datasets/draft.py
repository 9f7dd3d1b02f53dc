"""An episode that is being recorded and is not yet part of a dataset."""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from yardarm.datasets.features import INDEX_FEATURES, Schema, as_array
from yardarm.datasets.info import DatasetInfo
from yardarm.datasets.pictures import encode_picture
from yardarm.datasets.statistics import FeatureStats, PixelCounts, number_stats
from yardarm.datasets.video import BackgroundEncoder, Segment, VideoEncoding, pieces_of
from yardarm.errors import UsageError, nearest

__all__ = ["EpisodeDraft", "recorded_features"]

_numbers = itertools.count()
# Pictures of a camera that are in memory and not encoded yet; then whoever adds more waits.
MOST_WAITING = 64


def recorded_features(schema: Schema) -> Schema:
    """The features that every recorded frame must have; the writer fills in the others."""
    return {name: feature for name, feature in schema.items() if name not in INDEX_FEATURES}


def _kept_pieces(paths: Mapping[str, Path], fps: int) -> dict[str, list[Segment]]:
    """The pieces that all cameras have; what only some have is encoded again."""
    found = {key: pieces_of(path, fps) for key, path in paths.items()}
    lengths = zip(*([piece.frames for piece in pieces] for pieces in found.values()), strict=False)
    common = sum(1 for _ in itertools.takewhile(lambda own: len(set(own)) == 1, lengths))
    return {key: pieces[:common] for key, pieces in found.items()}


class EpisodeDraft:
    """Collects frames, and encodes pictures in the background as they arrive.

    One with a name can be continued if this process ends: what its videos have until the last `cut` is kept under that
    name, until its owner removes it. A draft of the same name begins there, and needs the other values of those frames.
    """

    def __init__(self, root: Path, info: DatasetInfo, encoding: VideoEncoding, name: str = "") -> None:
        self._features = recorded_features(info.features)
        self.tasks: list[str] = []
        self._columns: dict[str, list[Any]] = {
            name: [] for name, feature in self._features.items() if not feature.is_video
        }
        self._counts = {key: PixelCounts(info.features[key].is_depth) for key in info.image_keys}
        self._threads = ThreadPoolExecutor(1, "pictures") if info.image_keys else None
        # Unique names, since several episodes may be recorded at once.
        own = name or f".draft-{os.getpid()}-{next(_numbers)}"
        paths = {key: root / f"{own}-{number}.mp4" for number, key in enumerate(info.video_keys)}
        # Pictures of the table are in memory until it is written: then nothing is kept.
        kept = _kept_pieces(paths, info.fps) if name and self._threads is None else {}
        self._videos = {key: BackgroundEncoder(path, info.fps, encoding, kept.get(key)) for key, path in paths.items()}
        self._kept = self.settled

    def __len__(self) -> int:
        return len(self.tasks)

    @property
    def settled(self) -> int:
        """How many frames, from the first one on, have all their pictures in complete files."""
        return min((encoder.settled for encoder in self._videos.values()), default=0)

    def cut(self) -> None:
        """Settle what was added until now, soon, if it can be."""
        if self._threads is None:
            for encoder in self._videos.values():
                encoder.cut()

    def add_frame(self, frame: Mapping[str, Any]) -> None:
        """Append a frame: a value for each feature, and the instruction as "task"."""
        self._check_names(frame)
        task = frame["task"]
        if not isinstance(task, str):
            raise UsageError(f"'task' must be the instruction in words, got {task!r}")
        # Check all values before keeping any, so that a rejected frame leaves no trace.
        needed = self._needed()
        values = {name: self._value(name, frame[name]) for name in self._features if name in needed}
        for name, value in values.items():
            if name in self._videos:
                self._videos[name].add(value)
            elif name in self._counts and self._threads is not None:
                self._columns[name].append(self._threads.submit(self._picture, name, value))
                self._wait_for_pictures(name)
            else:
                self._columns[name].append(value)
        self.tasks.append(task)

    def columns(self) -> dict[str, Any]:
        """The table's columns by feature."""
        return {
            name: [value.result() if isinstance(value, Future) else value for value in values]
            for name, values in self._columns.items()
        }

    def finish_videos(self) -> dict[str, Path]:
        """Wait for the encoders; return each camera's complete video."""
        self._pixel_stats = {key: encoder.finish() for key, encoder in self._videos.items()}
        return {key: encoder.path for key, encoder in self._videos.items()}

    def stats(self, columns: Mapping[str, Any]) -> dict[str, FeatureStats]:
        """Statistics of the recorded frames."""
        numbers = {
            name: number_stats(np.asarray(columns[name]))
            for name, feature in self._features.items()
            if feature.is_numeric
        }
        pictures = {key: counts.stats() for key, counts in self._counts.items()}
        return {**numbers, **pictures, **self._pixel_stats}

    def close(self) -> None:
        """Stop encoding, and discard what was not saved to a dataset."""
        for encoder in self._videos.values():
            encoder.drop()
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)

    def _needed(self) -> set[str]:
        """What the next frame must have: one whose pictures are kept needs none."""
        return {name for name in self._features if name not in self._videos or len(self) >= self._kept}

    def _value(self, name: str, value: Any) -> Any:
        feature = self._features[name]
        if feature.dtype == "string":
            if not isinstance(value, str):
                raise UsageError(f"'{name}' must be a string, got {value!r}")
            return value
        return as_array(name, feature, value)

    def _wait_for_pictures(self, name: str) -> None:
        """Wait until few enough pictures are not encoded yet."""
        pictures = self._columns[name]
        if len(pictures) > MOST_WAITING:
            pictures[-1 - MOST_WAITING] = pictures[-1 - MOST_WAITING].result()

    def _picture(self, name: str, picture: np.ndarray) -> bytes:
        self._counts[name].add(picture)
        return encode_picture(picture)

    def _check_names(self, frame: Mapping[str, Any]) -> None:
        known = {*self._features, "task"}
        filled = [name for name in frame if name in INDEX_FEATURES]
        if filled:
            raise UsageError(f"a frame must not have '{filled[0]}': it is filled in automatically; leave it out")
        unknown = [name for name in frame if name not in known]
        if unknown:
            raise UsageError(
                f"a frame has '{unknown[0]}', which is not in the dataset{nearest(unknown[0], known)} "
                f"its features are {', '.join(self._features)}"
            )
        missing = [name for name in {*self._needed(), "task"} if name not in frame]
        if missing:
            raise UsageError(f"a frame lacks {', '.join(sorted(missing))}; every frame needs all features and 'task'")
