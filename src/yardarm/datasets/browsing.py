"""Reads what a viewer shows of a dataset: an episode's frames and pictures, and damaged files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from yardarm.datasets.arrow import blaming, open_parquet, read_table
from yardarm.datasets.episodes import Episode
from yardarm.datasets.frames import read_frames
from yardarm.datasets.info import read_info
from yardarm.datasets.metadata import DatasetMetadata
from yardarm.datasets.names import dimension_names
from yardarm.datasets.pictures import decode_picture, encode_picture
from yardarm.datasets.video import open_video
from yardarm.errors import DatasetFault

__all__ = [
    "BrowserPicture",
    "VideoFacts",
    "damaged_files",
    "dimension_names",
    "episode_pictures",
    "for_browser",
    "per_episode",
    "read_frames",
    "read_info",
    "size_on_disk",
    "video_facts",
]

# The first words of an MP4 file, after four bytes of length.
MP4 = (b"ftyp", b"styp", b"moov", b"free", b"mdat", b"wide", b"skip")
# Checking this many files takes a second or two.
MOST_FILES = 2000
SHOWN = {b"\x89PNG\r\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}


@dataclass(frozen=True, slots=True)
class BrowserPicture:
    """An encoded picture and its media type."""

    content: bytes
    media_type: str


@dataclass(frozen=True, slots=True)
class VideoFacts:
    """What a video file's header says."""

    codec: str
    width: int
    height: int
    seconds: float | None


def episode_pictures(meta: DatasetMetadata, episode: Episode, key: str) -> list[bytes]:
    """An episode's pictures from the table, still encoded, one per frame."""
    path = meta.data_file(episode)
    own = (pc.field("index") >= episode.start) & (pc.field("index") < episode.stop)
    with blaming(path):
        # Arrow skips the row groups that have none of these frames.
        column = pq.read_table(path, columns=[key], filters=own, partitioning=None)[key]
        pictures: list[bytes] = pc.struct_field(column, "bytes").to_pylist()
    if len(pictures) != episode.length:
        raise DatasetFault(f"{path} has {len(pictures)} of the {episode.length} frames of episode {episode.index}")
    return pictures


def for_browser(encoded: bytes | None) -> BrowserPicture:
    """A picture that browsers can show: PNG and JPEG unchanged, other formats as PNG, distances as greys."""
    for head, media_type in SHOWN.items():
        if encoded is not None and encoded.startswith(head) and not _has_16_bits(encoded):
            return BrowserPicture(encoded, media_type)
    picture = decode_picture(encoded or b"")
    if picture.shape[-1] == 1:
        picture = np.repeat((picture / max(picture.max(), 1) * 255).astype(np.uint8), 3, axis=-1)
    return BrowserPicture(encode_picture(picture), "image/png")


def _has_16_bits(encoded: bytes) -> bool:
    """Whether a PNG says so in its header: a browser would show distances up to 65 m, which is black."""
    return encoded[12:16] == b"IHDR" and encoded[24] == 16


def per_episode(meta: DatasetMetadata, feature: str, kind: str) -> np.ndarray | None:
    """One of a feature's statistics per episode, like the maximum of `next.success`; None if it was not stored."""
    found = np.full(meta.total_episodes, np.nan)
    column = f"stats/{feature}/{kind}"
    for path in sorted((meta.root / "meta" / "episodes").glob("*/*.parquet")):
        file = open_parquet(path)
        known = column in file.schema_arrow.names
        file.close()
        if not known:
            return None
        with blaming(path):
            table = read_table(path, ["episode_index", column])
            for index, value in zip(table["episode_index"].to_pylist(), table[column].to_pylist(), strict=True):
                if value is not None and index < len(found):
                    found[index] = np.ravel(value)[0]
    return None if np.isnan(found).any() else found


def video_facts(path: Path) -> VideoFacts:
    """Read a video's header, or raise if the file is missing or damaged."""
    with open_video(path) as container:
        stream = container.streams.video[0]
        seconds = None if stream.duration is None else float(stream.duration * stream.time_base)
        return VideoFacts(stream.codec.canonical_name, stream.width, stream.height, seconds)


def size_on_disk(root: Path) -> dict[str, int]:
    """The bytes of a dataset's files by folder: meta, data, videos."""
    sizes: dict[str, int] = {}
    for folder, _, files in os.walk(root):
        parts = Path(folder).relative_to(root).parts
        part = parts[0] if parts else "."
        sizes[part] = sizes.get(part, 0) + sum(_size(os.path.join(folder, name)) for name in files)
    return sizes


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0  # a broken link, or a file that was just deleted


def damaged_files(meta: DatasetMetadata) -> list[str]:
    """What is wrong with data and video files, as far as their headers and footers show; nothing is decoded.

    In a dataset with very many files, only the first ones are checked.
    """
    return [*_damaged_data(meta), *_damaged_videos(meta)]


def _damaged_data(meta: DatasetMetadata) -> Iterator[str]:
    for path in _first(meta.data_file(episode) for episode in meta.episodes):
        try:
            open_parquet(path).close()
        except DatasetFault as error:
            yield str(error)


def _damaged_videos(meta: DatasetMetadata) -> Iterator[str]:
    for path in _first(meta.video_file(episode, key) for episode in meta.episodes for key in episode.videos):
        try:
            with path.open("rb") as file:
                head = file.read(8)
        except FileNotFoundError:
            yield f"{path} is missing; the dataset is incomplete"
        except OSError as error:
            yield f"{path} cannot be read: {error.strerror}"
        else:
            if head[4:] not in MP4:
                yield f"{path} is damaged: it is not an MP4 file"


def _first(paths: Iterable[Path]) -> Iterator[Path]:
    return islice(dict.fromkeys(paths), MOST_FILES)
