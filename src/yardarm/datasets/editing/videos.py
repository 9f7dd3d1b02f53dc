"""Lays a camera's videos one after the other in files of full size, without encoding anew what can be copied."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from yardarm.datasets.editing.pieces import Piece, encode_anew, encoding_like, piece_of
from yardarm.datasets.editing.pool import Pool
from yardarm.datasets.episodes import VideoPlace
from yardarm.datasets.info import DatasetInfo
from yardarm.datasets.layout import MB, FileSlot, video_file
from yardarm.datasets.video import Segment, VideoEncoding, join_segments

__all__ = ["lay_videos"]

PARTS = ".parts"


def lay_videos(
    root: Path,
    info: DatasetInfo,
    key: str,
    segments: Sequence[Segment],
    encoding: VideoEncoding | None,
    on_segment: Callable[[], Any],
) -> list[VideoPlace]:
    """Write a camera's video files; `encoding` encodes all of it anew. Returns where each segment has come to lie."""
    files = _VideoFiles(root, info, key)
    places = []
    with Pool() as pool:
        jobs = (
            partial(_piece, segment, encoding, _Target(root / PARTS / f"{key}-{number}.mp4", info, key))
            for number, segment in enumerate(segments)
        )
        for piece in pool.in_order(jobs):
            places.append(files.add(piece))
            on_segment()
    files.close()
    return places


class _Target:
    """Where a segment goes that has to be encoded anew."""

    def __init__(self, path: Path, info: DatasetInfo, key: str) -> None:
        self.path, self.fps, self.known = path, info.fps, info.features[key].info


def _piece(segment: Segment, encoding: VideoEncoding | None, target: _Target, stop: threading.Event) -> Piece:
    piece = piece_of(segment) if encoding is None else None
    return piece or encode_anew(segment, target.path, target.fps, encoding or encoding_like(target.known), stop)


class _VideoFiles:
    """Files that grow to their full size; each is written when it is known what belongs to it."""

    def __init__(self, root: Path, info: DatasetInfo, key: str) -> None:
        self._root, self._info, self._key = root, info, key
        self._slot = FileSlot()
        self._pieces: list[Piece] = []
        self._frames = self._size = 0

    def add(self, piece: Piece) -> VideoPlace:
        """Append a piece; one of another kind begins another file."""
        if self._pieces and not self._has_room_for(piece):
            self.close()
            # Files are numbered in the order of episodes: a recording goes on after the last one.
            self._slot = self._slot.next(self._info.chunks_size)
        before, fps = self._frames, self._info.fps
        self._pieces.append(piece)
        self._frames += piece.segment.frames
        self._size += piece.size
        return VideoPlace(self._slot, before / fps, self._frames / fps)

    def close(self) -> None:
        """Write the file that has been collected."""
        if not self._pieces:
            return
        target = video_file(self._root, self._info, self._key, self._slot)
        join_segments([piece.segment for piece in self._pieces], target)
        for piece in self._pieces:
            if piece.is_temporary:
                piece.segment.path.unlink()
        self._pieces = []
        self._frames = self._size = 0

    def _has_room_for(self, piece: Piece) -> bool:
        fits = self._size + piece.size <= self._info.video_files_size_in_mb * MB
        return fits and piece.kind == self._pieces[0].kind
