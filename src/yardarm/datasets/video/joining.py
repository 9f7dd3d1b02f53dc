"""Joins segments of videos without encoding anything again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import av

from yardarm.datasets.arrow import OpenFile
from yardarm.errors import DatasetFault, one_line
from yardarm.files import sync, temporary_path

__all__ = ["Segment", "can_be_copied", "join_segments", "kind_of_video"]


@dataclass(frozen=True, slots=True)
class Segment:
    """An episode's frames in a video file."""

    path: Path
    start_s: float
    frames: int
    fps: float


def join_segments(segments: Sequence[Segment], path: Path) -> None:
    """Write the segments' packets to one file in order; the file appears when it is complete.

    All must have the same kind (`kind_of_video`) and begin with a key frame (`can_be_copied`).
    """
    temporary = temporary_path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with av.open(str(temporary), "w", format="mp4") as output:
            stream, at_s, last = None, Fraction(0), None
            for segment in segments:
                with open_video(segment.path) as container:
                    if stream is None:
                        stream = output.add_stream_from_template(container.streams.video[0], opaque=True)
                        stream.time_base = container.streams.video[0].time_base
                    for packet in _moved(container, segment, stream.time_base, at_s):
                        # An encoder that buffers frames starts its decoding times earlier than one that does not.
                        packet.dts = packet.dts if last is None else max(packet.dts, last + 1)
                        last = packet.dts
                        packet.stream = stream
                        output.mux(packet)
                at_s += segment.frames / Fraction(segment.fps)
        sync(temporary)
        temporary.replace(path)
    except av.FFmpegError as error:
        raise DatasetFault(f"{path} cannot be joined from {len(segments)} videos: {one_line(error)}") from error
    finally:
        temporary.unlink(missing_ok=True)
    sync(path.parent)


def _moved(container: Any, segment: Segment, base: Fraction, at_s: Fraction) -> Iterator[Any]:
    """A segment's packets, shifted to begin at another time."""
    packets = list(_packets(container, segment))
    if len(packets) != segment.frames:
        raise DatasetFault(
            f"{segment.path} has {len(packets)} of the {segment.frames} frames from {segment.start_s:.3f} s on; "
            "it is damaged or cut short"
        )
    scale = packets[0].time_base / base
    first, start = packets[0].pts, round(at_s / base)
    for packet in packets:
        packet.pts = start + round((packet.pts - first) * scale)
        packet.dts = start + round((packet.dts - first) * scale)
        packet.time_base = base
        yield packet


def _packets(container: Any, segment: Segment) -> Iterator[Any]:
    """The segment's packets in decoding order."""
    return (packet for packet, is_inside in _packets_from(container, segment) if is_inside)


def _packets_from(container: Any, segment: Segment) -> Iterator[tuple[Any, bool]]:
    """Packets up to the segment's last one, and whether each belongs to the segment."""
    stream = container.streams.video[0]
    rate, base = Fraction(segment.fps), stream.time_base  # the file's own rate is an average
    first = round(segment.start_s / base)
    half = round(Fraction(1, 2) / rate / base)
    after = first + round(segment.frames / rate / base) - half
    found = 0
    try:
        container.seek(first, stream=stream, backward=True)
        for packet in container.demux(stream):
            if packet.pts is None:
                continue
            is_inside = first - half <= packet.pts < after
            yield packet, is_inside
            found += is_inside
            if found == segment.frames:
                return
    except av.FFmpegError as error:
        raise DatasetFault(f"{segment.path} is damaged or cut short: {one_line(error)}") from error


def can_be_copied(segment: Segment) -> bool:
    """Whether a segment can be cut out: it begins with a key frame and needs no packets from outside it."""
    first = None
    with open_video(segment.path) as container:
        for packet, is_inside in _packets_from(container, segment):
            if first is None and is_inside:
                first = packet.pts
                if not packet.is_keyframe:
                    return False
            elif first is not None and (not is_inside or packet.pts < first):
                return False
    return first is not None


def kind_of_video(path: Path) -> tuple[Any, ...]:
    """What must be equal for two videos to be joined."""
    with open_video(path) as container:
        codec = container.streams.video[0].codec_context
        return codec.name, codec.width, codec.height, codec.pix_fmt, codec.extradata


def open_video(path: Path, open_file: OpenFile | None = None) -> Any:
    """Open a video, or raise if it is missing or damaged."""
    try:
        container = av.open(open_file(path) if open_file else str(path))
    except FileNotFoundError:
        raise DatasetFault(f"{path} is missing; the dataset is incomplete") from None
    except (av.FFmpegError, OSError) as error:
        reason = error.strerror or one_line(error)
        raise DatasetFault(f"{path} is damaged or cut short: {reason}") from error
    if not container.streams.video:
        container.close()
        raise DatasetFault(f"{path} contains no video stream")
    return container
