"""Encodes frames to MP4 in the background.

    recorder ── add(frame) ──▶ queue of 64 frames ──▶ thread: encode, count pixels ──▶ .mp4
       │  waits only if the queue is full
       └─ finish() waits for the thread, then returns the pixels' statistics

If the thread fails, it keeps emptying the queue, so that `add` cannot block forever; the next `add` or `finish`
raises.
"""

from __future__ import annotations

import itertools
import os
import queue
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from yardarm.datasets.features import DatasetFeature, Schema
from yardarm.datasets.statistics import FeatureStats, PixelCounts
from yardarm.datasets.video.joining import Segment, join_segments, open_video
from yardarm.errors import DatasetFault, UsageError, nearest, one_line
from yardarm.files import sync

__all__ = ["BackgroundEncoder", "VideoEncoding", "piece_path", "pieces_of", "video_info"]

CODECS = {"libsvtav1": "av1", "h264": "h264", "hevc": "hevc"}
ENCODERS = {"libsvtav1": "libsvtav1", "h264": "libx264", "hevc": "libx265"}
PRESETS = ("ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow", "placebo")
# x265 writes out of bounds with pictures of 32x48.
SMALLEST_HEVC = 64
# How many frames may wait before `add` blocks, so that memory does not grow.
MOST_WAITING = 64
CUT = "cut"
# Otherwise SVT-AV1 prints a banner to the terminal for each video.
os.environ.setdefault("SVT_LOG", "1")


@dataclass(frozen=True, slots=True)
class VideoEncoding:
    """How videos are encoded. With a key frame every second frame, any frame is quick to reach."""

    vcodec: str = "libsvtav1"
    pix_fmt: str = "yuv420p"
    g: int = 2
    crf: int = 30
    preset: str = ""
    """The codec's name for its speed; empty means 12 for libsvtav1, veryfast for the others."""
    extra_options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.vcodec not in CODECS:
            near = nearest(self.vcodec, CODECS)
            raise UsageError(f"unknown video codec '{self.vcodec}'{near} use one of {', '.join(CODECS)}")
        if self.pix_fmt not in ("yuv420p", "yuv444p"):
            raise UsageError(f"unknown pixel format '{self.pix_fmt}'; use yuv420p or yuv444p")
        if self.g < 1:
            raise UsageError(f"g (frames from key frame to key frame) must be at least 1, got {self.g}")
        worst = 63 if self.vcodec == "libsvtav1" else 51
        if not 0 <= self.crf <= worst:
            raise UsageError(f"crf (0: best, largest) must be between 0 and {worst} for {self.vcodec}, got {self.crf}")
        known = [str(speed) for speed in range(14)] if self.vcodec == "libsvtav1" else PRESETS
        if self.preset and self.preset not in known:
            raise UsageError(f"unknown preset '{self.preset}' of {self.vcodec}; use one of {', '.join(known)}")

    def check_size(self, name: str, height: int, width: int) -> None:
        """Reject picture sizes that the codec cannot encode, before any is encoded."""
        if self.vcodec != "libsvtav1" and (height % 2 or width % 2):
            raise UsageError(f"'{name}' is {height}x{width}; {self.vcodec} needs even sides, libsvtav1 takes any")
        if self.vcodec == "hevc" and min(height, width) < SMALLEST_HEVC:
            raise UsageError(
                f"'{name}' is {height}x{width}; hevc needs sides of at least {SMALLEST_HEVC}, libsvtav1 takes any"
            )

    @property
    def options(self) -> dict[str, str]:
        """The encoder's options."""
        preset = self.preset or ("12" if self.vcodec == "libsvtav1" else "veryfast")
        own: dict[str, str] = {}
        if self.vcodec != "libsvtav1":
            # No B-frames: frames stored in the order they are shown can be cut and joined anywhere.
            own["bf"] = "0"
        if self.vcodec == "hevc":
            own["x265-params"] = "log-level=error"
        return {"g": str(self.g), "crf": str(self.crf), "preset": preset, **own, **self.extra_options}

    def open(self, path: Path, fps: Fraction, height: int, width: int) -> tuple[Any, Any]:
        """Open a new file with a video stream."""
        container = av.open(str(path), "w", format="mp4")
        stream: Any = container.add_stream(ENCODERS[self.vcodec], rate=fps, options=self.options)
        stream.width, stream.height, stream.pix_fmt = width, height, self.pix_fmt
        return container, stream

    def described(self, features: Schema, fps: int) -> dict[str, DatasetFeature]:
        """Features with the description of their videos for `info.json`."""
        return {
            name: feature.with_info(self.describe(fps, *feature.size)) if feature.is_video else feature
            for name, feature in features.items()
        }

    def differing(self, described: Mapping[str, Any]) -> dict[str, Any]:
        """The options of a video that `info.json` describes so, as far as they are others than these."""
        own = self.describe(0, 0, 0)
        names = {"vcodec": "video.codec", **{name: f"video.{name}" for name in ("pix_fmt", "g", "crf", "preset")}}
        there = {name: described[key] for name, key in names.items() if described.get(key, own[key]) != own[key]}
        encoders = {codec: name for name, codec in CODECS.items()}
        return {name: encoders.get(value, value) if name == "vcodec" else value for name, value in there.items()}

    def describe(self, fps: int, height: int, width: int) -> dict[str, Any]:
        """The description of a video feature in `info.json`, with LeRobot's keys."""
        preset = self.options["preset"]
        return {
            "video.height": height,
            "video.width": width,
            "video.codec": CODECS[self.vcodec],
            "video.pix_fmt": self.pix_fmt,
            "video.fps": fps,
            "video.channels": 3,
            "has_audio": False,
            "video.g": self.g,
            "video.crf": self.crf,
            "video.preset": int(preset) if preset.isdecimal() else preset,
            "video.fast_decode": 0,
            "video.video_backend": "pyav",
            "video.extra_options": dict(self.extra_options),
            "is_depth_map": False,
        }


def video_info(path: Path) -> dict[str, Any]:
    """Describe an existing video file, as `info.json` does."""
    try:
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            codec = stream.codec_context
            return {
                "video.height": codec.height,
                "video.width": codec.width,
                "video.codec": "av1" if "av1" in codec.name or "dav1d" in codec.name else codec.name,
                "video.pix_fmt": codec.pix_fmt,
                "video.fps": _whole(stream.average_rate),
                "video.channels": 3,
                "has_audio": bool(container.streams.audio),
                "is_depth_map": False,
            }
    except (av.FFmpegError, IndexError) as error:
        raise DatasetFault(f"{path} is damaged or not a video: {one_line(error)}") from error


def _whole(rate: Fraction | None) -> int | float | None:
    if rate is None:
        return None
    return int(rate) if rate.denominator == 1 else float(rate)


class BackgroundEncoder:
    """Encodes one camera's video of one episode: a thread encodes and counts frames while more arrive.

    `cut` makes a complete file, a piece, of what was added until then; `finish` joins them. Pieces are removed at the
    end, unless there are `kept` ones to begin with, or an empty list of them: then they are somebody else's to remove.
    """

    def __init__(self, path: Path, fps: int, encoding: VideoEncoding, kept: Sequence[Segment] | None = None) -> None:
        self.path = path
        self._fps = Fraction(fps).limit_denominator(1001)
        self._encoding, self._keeps_pieces = encoding, kept is not None
        self._counts = PixelCounts()
        self._waiting: queue.Queue[np.ndarray | str | None] = queue.Queue(MOST_WAITING)
        self._error: BaseException | None = None
        self._dropped = False
        self._pieces = list(kept or ())
        self.frames = self.settled
        self._thread = threading.Thread(target=self._work, name=f"encode {path.name}", daemon=True)
        self._thread.start()

    @property
    def settled(self) -> int:
        """How many frames are in complete pieces."""
        return sum(piece.frames for piece in self._pieces)

    def add(self, frame: np.ndarray) -> None:
        """Append a frame (height, width, 3) of bytes, which must not change afterwards."""
        self._raise()
        self._waiting.put(frame)
        self.frames += 1

    def cut(self) -> None:
        """Make a piece of what was added until now, soon."""
        self._raise()
        self._waiting.put(CUT)

    def finish(self) -> FeatureStats:
        """Wait until the file is complete; return the pixels' statistics."""
        self._waiting.put(None)
        self._thread.join()
        self._raise()
        if len(self._pieces) > 1:
            join_segments(self._pieces, self.path)
        elif self._keeps_pieces:
            self.path = self._pieces[0].path
        else:
            self._pieces.pop().path.replace(self.path)
        return self._counts.stats()

    def drop(self) -> None:
        """Stop, and leave no file, but for pieces that are kept."""
        self._dropped = True
        self._waiting.put(None)
        self._thread.join()
        pieces = {piece.path for piece in self._pieces}
        for path in {self.path} - pieces if self._keeps_pieces else {self.path, *pieces}:
            path.unlink(missing_ok=True)

    def _raise(self) -> None:
        if self._error is not None:
            raise DatasetFault(f"{self.path} cannot be encoded: {one_line(self._error)}") from self._error

    def _work(self) -> None:
        items = self._items()
        try:
            for piece in list(self._pieces):
                with open_video(piece.path) as video:
                    for frame in video.decode(video=0):
                        self._counts.add(frame.to_ndarray(format="rgb24"))
            while self._encode_piece(items):
                pass
        except BaseException as error:
            self._error = error
            for _ in items:  # `add` must not wait for a thread that has ended
                pass

    def _items(self) -> Iterator[np.ndarray | str]:
        while (item := self._waiting.get()) is not None:
            yield item

    def _encode_piece(self, items: Iterator[np.ndarray | str]) -> bool:
        """Encode until the next cut, or the end; whether it was a cut."""
        path = piece_path(self.path, len(self._pieces))
        temporary, frames, is_cut = path.with_suffix(".part"), 0, False
        container: Any = None
        stream: Any = None
        try:
            for item in items:
                if is_cut := isinstance(item, str):
                    break
                if self._dropped:
                    continue
                if container is None:
                    container, stream = self._encoding.open(temporary, self._fps, *item.shape[:2])
                container.mux(stream.encode(av.VideoFrame.from_ndarray(item, format="rgb24")))
                self._counts.add(item)
                frames += 1
            if container is not None:  # even if dropped: SVT-AV1 prints a complaint about an unfinished stream
                container.mux(stream.encode())
                container.close()
                container = None
                if not self._dropped:
                    if self._keeps_pieces:
                        sync(temporary)
                    temporary.replace(path)
                    self._pieces.append(Segment(path, 0.0, frames, float(self._fps)))
        finally:
            if container is not None:
                container.close()
            temporary.unlink(missing_ok=True)
        return is_cut


def piece_path(path: Path, number: int) -> Path:
    """Where a piece of a video is."""
    return path.with_name(f"{path.stem}.{number:04d}.mp4")


def pieces_of(path: Path, fps: float) -> list[Segment]:
    """The pieces of a video that are there, because somebody had them kept."""
    pieces = []
    for own in itertools.takewhile(Path.exists, (piece_path(path, number) for number in itertools.count())):
        with open_video(own) as video:
            pieces.append(Segment(own, 0.0, sum(packet.pts is not None for packet in video.demux(video=0)), fps))
    return pieces
