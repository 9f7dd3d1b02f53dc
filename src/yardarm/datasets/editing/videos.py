"""Joins a camera's videos into full-size files, and encodes again only what cannot be copied."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from yardarm.datasets.editing.segments import CopyableSegment, copyable, encoding_like, reencode
from yardarm.datasets.editing.thread_pool import ThreadPool
from yardarm.datasets.episodes import VideoPlace
from yardarm.datasets.info import DatasetInfo
from yardarm.datasets.layout import MB, FileSlot, video_file
from yardarm.datasets.video import Segment, VideoEncoding, join_segments

__all__ = ["write_video_files"]

PARTS = ".parts"


def write_video_files(
    root: Path,
    info: DatasetInfo,
    key: str,
    segments: Sequence[Segment],
    encoding: VideoEncoding | None,
    on_segment: Callable[[], Any],
) -> list[VideoPlace]:
    """Write a camera's video files, all encoded again if `encoding` is given; return where each segment is."""
    files = _VideoFiles(root, info, key)
    places = []
    with ThreadPool() as pool:
        jobs = (
            partial(_joinable, segment, encoding, _Target(root / PARTS / f"{key}-{number}.mp4", info, key))
            for number, segment in enumerate(segments)
        )
        for piece in pool.in_order(jobs):
            places.append(files.add(piece))
            on_segment()
    files.close()
    return places


class _Target:
    """Where a segment that must be encoded again is written."""

    def __init__(self, path: Path, info: DatasetInfo, key: str) -> None:
        self.path, self.fps, self.known = path, info.fps, info.features[key].info


def _joinable(
    segment: Segment, encoding: VideoEncoding | None, target: _Target, stop: threading.Event
) -> CopyableSegment:
    piece = copyable(segment) if encoding is None else None
    return piece or reencode(segment, target.path, target.fps, encoding or encoding_like(target.known), stop)


class _VideoFiles:
    """Collects segments into files of full size; a file is written once all its segments are known."""

    def __init__(self, root: Path, info: DatasetInfo, key: str) -> None:
        self._root, self._info, self._key = root, info, key
        self._slot = FileSlot()
        self._pieces: list[CopyableSegment] = []
        self._frames = self._size = 0

    def add(self, piece: CopyableSegment) -> VideoPlace:
        """Append a segment; one of another kind starts a new file."""
        if self._pieces and not self._has_room_for(piece):
            self.close()
            # Files are numbered in the order of episodes: a later recording continues after the last one.
            self._slot = self._slot.next(self._info.chunks_size)
        before, fps = self._frames, self._info.fps
        self._pieces.append(piece)
        self._frames += piece.segment.frames
        self._size += piece.size
        return VideoPlace(self._slot, before / fps, self._frames / fps)

    def close(self) -> None:
        """Write the collected segments to a file."""
        if not self._pieces:
            return
        target = video_file(self._root, self._info, self._key, self._slot)
        join_segments([piece.segment for piece in self._pieces], target)
        for piece in self._pieces:
            if piece.is_temporary:
                piece.segment.path.unlink()
        self._pieces = []
        self._frames = self._size = 0

    def _has_room_for(self, piece: CopyableSegment) -> bool:
        fits = self._size + piece.size <= self._info.video_files_size_in_mb * MB
        return fits and piece.kind == self._pieces[0].kind
