"""An episode's segment of a video: whether it can be copied, and how it is decoded, counted and encoded again."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from yardarm.datasets.statistics import PixelCounts
from yardarm.datasets.video import Segment, VideoEncoding, can_be_copied, kind_of_video, open_video
from yardarm.errors import DatasetFault, YardarmError, one_line

__all__ = ["CopyableSegment", "copyable", "count_pixels", "encoding_like", "reencode"]

# Codecs may store frames out of order, by at most this many.
REORDERED = 16


@dataclass(frozen=True, slots=True)
class CopyableSegment:
    """A segment that can be joined to others without encoding it again."""

    segment: Segment
    kind: tuple[Any, ...]
    size: int
    is_temporary: bool = False


def copyable(segment: Segment) -> CopyableSegment | None:
    """The segment itself; None if it does not begin with a key frame and must be encoded again."""
    if not can_be_copied(segment):
        return None
    return CopyableSegment(segment, *_kind_and_size(segment))


def _kind_and_size(segment: Segment) -> tuple[tuple[Any, ...], int]:
    index = _video_index(segment.path, segment.path.stat().st_mtime_ns)
    first = round(segment.start_s / index.base)
    last = first + round(segment.frames / Fraction(segment.fps) / index.base)
    inside = (index.times >= first) & (index.times < last)
    return index.kind, int(index.sizes[inside].sum())


@dataclass(frozen=True, slots=True)
class _VideoIndex:
    kind: tuple[Any, ...]
    base: Fraction
    times: np.ndarray
    sizes: np.ndarray


@functools.lru_cache(8)
def _video_index(path: Path, changed: int) -> _VideoIndex:
    with open_video(path) as container:
        stream = container.streams.video[0]
        entries = stream.index_entries
        # The index has decoding times, which can start before 0, when the first frame is shown.
        times = np.array([entry.timestamp - entries[0].timestamp for entry in entries], np.int64)
        sizes = np.array([entry.size for entry in entries], np.int64)
        return _VideoIndex(kind_of_video(path), stream.time_base, times, sizes)


def decoded(segment: Segment) -> Iterator[Any]:
    """The segment's frames."""
    found = 0
    with open_video(segment.path) as container:
        stream = container.streams.video[0]
        stream.codec_context.thread_count = 1  # the cores are busy with other segments
        one = 1 / Fraction(segment.fps) / stream.time_base
        first = round(segment.start_s / stream.time_base)
        try:
            container.seek(max(0, first - round(REORDERED * one)), stream=stream, backward=True)
            for frame in container.decode(stream):
                if frame.pts is None or frame.pts < first - one / 2:
                    continue
                yield frame
                found += 1
                if found == segment.frames:
                    return
        except av.FFmpegError as error:
            where = segment.start_s + found / segment.fps
            raise DatasetFault(f"{segment.path} is damaged at {where:.3f} s: {one_line(error)}") from error
    raise DatasetFault(
        f"{segment.path} has {found} of the {segment.frames} frames from {segment.start_s:.3f} s on; "
        "it is damaged or cut short"
    )


def count_pixels(segment: Segment, every: int, stop: threading.Event) -> PixelCounts:
    """Count every n-th frame."""
    counts = PixelCounts()
    for number, frame in enumerate(decoded(segment)):
        _check_stop(stop)
        if number % every == 0:
            counts.add(frame.to_ndarray(format="rgb24"))
    return counts


def reencode(
    segment: Segment, path: Path, fps: float, encoding: VideoEncoding, stop: threading.Event
) -> CopyableSegment:
    """Encode a segment to a new file."""
    rate = Fraction(fps).limit_denominator(1001)
    container: Any = None
    stream: Any = None
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        for number, frame in enumerate(decoded(segment)):
            _check_stop(stop)
            if container is None:
                container, stream = encoding.open(path, rate, frame.height, frame.width)
                _same_colours(segment.path, stream.codec_context)
            frame.pts, frame.time_base = number, 1 / rate
            frame.pict_type = av.video.frame.PictureType.NONE  # let the new encoder choose key frames
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    except av.FFmpegError as error:
        raise YardarmError(f"{segment.path} cannot be encoded: {one_line(error)}") from error
    finally:
        if container is not None:
            container.close()
    return CopyableSegment(
        Segment(path, 0.0, segment.frames, segment.fps), kind_of_video(path), path.stat().st_size, is_temporary=True
    )


def _same_colours(path: Path, codec: Any) -> None:
    """Copy the colour description, since frames are passed on without converting colours."""
    with open_video(path) as container:
        source = container.streams.video[0].codec_context
        for name in ("color_range", "colorspace", "color_primaries", "color_trc"):
            setattr(codec, name, getattr(source, name))


def encoding_like(info: Mapping[str, Any]) -> VideoEncoding:
    """How a camera's videos were encoded, as far as is known."""
    usual, pix_fmt = VideoEncoding(), info.get("video.pix_fmt")
    g, crf = info.get("video.g"), info.get("video.crf")
    return VideoEncoding(
        {"h264": "h264", "hevc": "hevc"}.get(str(info.get("video.codec")), usual.vcodec),
        pix_fmt if pix_fmt in ("yuv420p", "yuv444p") else usual.pix_fmt,
        usual.g if g is None else int(g),
        usual.crf if crf is None else int(crf),
    )


def _check_stop(stop: threading.Event) -> None:
    if stop.is_set():
        raise YardarmError("stopped")
