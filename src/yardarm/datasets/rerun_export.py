"""Exports episodes as a recording for Rerun, a viewer for robot data (https://rerun.io)."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from yardarm.datasets.browsing import episode_pictures, for_browser
from yardarm.datasets.episodes import Episode
from yardarm.datasets.features import INDEX_FEATURES
from yardarm.datasets.frames import read_frames
from yardarm.datasets.metadata import DatasetMetadata, read_metadata
from yardarm.datasets.names import dimension_names
from yardarm.datasets.selection import select_episodes
from yardarm.datasets.video import VideoReaders
from yardarm.errors import SetupError, UsageError, one_line
from yardarm.files import temporary_path

__all__ = ["write_rerun"]

# How many frames are decoded at a time.
FRAMES_AT_ONCE = 64
JPEG_QUALITY = 95


def write_rerun(root: Path, path: Path, episodes: Sequence[int] | None = None) -> int:
    """Write some or all episodes to a file for Rerun, and return how many.

    Its timelines are `frame_index` and `timestamp`, which restart with each episode, and `index`, which does not.
    Several episodes get separate entity paths.
    """
    rerun = _rerun()
    meta = read_metadata(root)
    chosen = [meta.episodes[index] for index in select_episodes(episodes, meta.total_episodes)]
    if not chosen:
        raise UsageError(f"{root} has no episodes yet")
    temporary = temporary_path(path)
    try:
        recording = rerun.RecordingStream("yardarm_dataset", recording_id=root.resolve().name)
        recording.save(temporary)
        for episode in chosen:
            _Export(rerun, recording, meta, episode, below=len(chosen) > 1).write()
        recording.flush()
        recording.disconnect()
        temporary.replace(path)
    except (OSError, RuntimeError) as error:  # Rerun raises the latter if the folder does not exist
        raise UsageError(
            f"{path} cannot be written: {one_line(error)}; choose another with --rerun=FILE.rrd"
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
    return len(chosen)


def _rerun() -> Any:
    try:
        import rerun
    except ImportError as error:
        raise SetupError(f"Rerun is not installed: `pip install 'yardarm[rerun]'` ({one_line(error)})") from error
    return rerun


class _Export:
    """Writes one episode into a recording."""

    def __init__(self, rerun: Any, recording: Any, meta: DatasetMetadata, episode: Episode, *, below: bool) -> None:
        self._rerun = rerun
        self._recording = recording
        self._meta = meta
        self._episode = episode
        self._base = [f"episode_{episode.index:06d}"] if below else []
        self._index = np.arange(episode.start, episode.stop)

    def write(self) -> None:
        """Write the episode's numbers, texts and pictures."""
        features = self._meta.info.features
        shown = [key for key, own in features.items() if not own.is_visual and key not in INDEX_FEATURES]
        columns = read_frames(self._meta, [self._episode], [*shown, "timestamp"])
        self._seconds = columns["timestamp"].astype(np.float64)
        words = "\n".join(self._episode.tasks)
        self._recording.log(self._path("task"), self._rerun.TextDocument(words), static=True)
        for key in shown:
            if features[key].dtype == "string":
                texts = self._rerun.TextLog.columns(text=[str(text) for text in columns[key]])
                self._send(self._path(key), texts)
                continue
            values = columns[key].reshape(len(self._index), -1).astype(np.float64)
            for name, column in zip(dimension_names(features[key]), values.T, strict=True):
                # Indices like [0, 1] would have to be escaped.
                place = [name.strip("[]").replace(", ", "_")] if name else []
                self._send(self._path(key, *place), self._rerun.Scalars.columns(scalars=column))
        for key in self._meta.camera_keys:
            for first, pictures in self._pictures(key):
                encoded = [for_browser(picture) for picture in pictures]
                frames = self._rerun.EncodedImage.columns(
                    blob=[picture.content for picture in encoded],
                    media_type=[picture.media_type for picture in encoded],
                )
                self._send(self._path(key), frames, slice(first, first + len(pictures)))

    def _path(self, *parts: str) -> str:
        return self._rerun.new_entity_path([*self._base, *parts])

    def _send(self, path: str, columns: Any, frames: slice = slice(None)) -> None:
        index = self._index[frames]
        times = [
            self._rerun.TimeColumn("frame_index", sequence=index - self._episode.start),
            self._rerun.TimeColumn("timestamp", duration=self._seconds[frames]),
            self._rerun.TimeColumn("index", sequence=index),
        ]
        self._rerun.send_columns(path, times, columns, recording=self._recording)

    def _pictures(self, key: str) -> Iterator[tuple[int, list[bytes]]]:
        """A camera's encoded pictures in groups, each with the number of its first frame.

        Pictures from the table are passed on unchanged. Video frames are encoded again, one by one: part of a video
        file is not a video, and Rerun needs another program for some codecs.
        """
        episode = self._episode
        if key in episode.videos:
            readers = VideoReaders()
            path, place = self._meta.video_file(episode, key), episode.videos[key]
            for first in range(0, episode.length, FRAMES_AT_ONCE):
                seconds = place.start_s + self._seconds[first : first + FRAMES_AT_ONCE]
                frames = readers.frames_at(path, seconds.tolist(), 0.25 / self._meta.fps)
                yield first, [_jpeg(frame) for frame in frames]
            readers.close()
        else:
            pictures = episode_pictures(self._meta, episode, key)
            for first in range(0, episode.length, FRAMES_AT_ONCE):
                yield first, pictures[first : first + FRAMES_AT_ONCE]


def _jpeg(picture: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "JPEG", quality=JPEG_QUALITY)
    return buffer.getvalue()
