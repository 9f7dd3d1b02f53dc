"""Decodes the requested frames, and as few others as possible."""

from __future__ import annotations

import bisect
import importlib.util
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import av
import numpy as np
from av.video.reformatter import VideoReformatter

from yardarm.datasets.arrow import OpenFile
from yardarm.datasets.video.joining import open_video
from yardarm.errors import DatasetFault, SetupError, UsageError, nearest, one_line

__all__ = ["VideoReaders", "check_backend"]

# An open decoder takes a few megabytes.
MOST_OPEN = 32


class VideoReader(Protocol):
    """An open video file."""

    def planes_at(self, seconds: Sequence[float], tolerance_s: float) -> np.ndarray:
        """The frames at these times, as (n, 3, height, width) bytes."""

    def close(self) -> None:
        """Close the file."""


class PyAVReader:
    """A video file that stays open, so that reading a frame does not parse the file's header again."""

    def __init__(self, path: Path, open_file: OpenFile | None = None) -> None:
        self._path = path
        self._container = open_video(path, open_file)
        self._stream = self._container.streams.video[0]
        # One thread: there are many workers, and with such frequent key frames, threads have nothing to share.
        self._stream.codec_context.thread_count = 1
        self._base = self._stream.time_base
        entries = self._stream.index_entries
        self._keys = [entry.timestamp for entry in entries if entry.is_keyframe]
        steps = np.diff([entry.timestamp for entry in entries])
        self._half_step = float(np.median(steps)) / 2 if len(steps) else 0.0
        self._reformatter = VideoReformatter()  # reuses its tables from frame to frame
        self._decoded: Iterator[Any] | None = None
        self._last: Any = None

    def planes_at(self, seconds: Sequence[float], tolerance_s: float) -> np.ndarray:
        """Decode each requested frame once, in order of time, and return them in the requested order."""
        codec = self._stream.codec_context
        planes = np.empty((len(seconds), 3, codec.height, codec.width), np.uint8)
        slack = tolerance_s / float(self._base)
        wanted = [second / float(self._base) for second in seconds]
        # Even with a large tolerance, take the nearest frame.
        near = min(slack, self._half_step or slack)
        first: dict[float, int] = {}
        for place in sorted(range(len(wanted)), key=wanted.__getitem__):
            pts = wanted[place]
            if pts in first:
                planes[place] = planes[first[pts]]
            else:
                self._fill(planes[place], self._reach(pts, slack, near))
                first[pts] = place
        return planes

    def _fill(self, planes: np.ndarray, frame: Any) -> None:
        """Convert to separate red, green and blue planes, the layout that networks take."""
        converted = self._reformatter.reformat(frame, format="gbrp")
        _, height, width = planes.shape
        for colour, plane in zip((1, 2, 0), converted.planes, strict=True):
            rows = np.frombuffer(memoryview(plane), np.uint8).reshape(-1, plane.line_size)
            planes[colour] = rows[:height, :width]

    def close(self) -> None:
        """Close the file."""
        self._decoded = None
        self._container.close()

    def _reach(self, pts: float, slack: float, near: float) -> Any:
        """Decode forward to the frame that is shown at this time."""
        try:
            if not self._is_ahead(pts, near):
                self._seek(pts, near)
            while self._last.pts < pts - near:
                self._last = next(self._decoded)  # type: ignore[arg-type]
        except StopIteration:  # the last one may still be close enough
            self._decoded = None
        except (av.FFmpegError, OSError) as error:
            self._decoded = None
            where = float(pts * self._base)
            raise DatasetFault(f"{self._path} is damaged at {where:.3f} s: {one_line(error)}") from error
        if self._last is None or abs(self._last.pts - pts) > slack:
            raise self._no_frame(pts, self._last)
        return self._last

    def _seek(self, pts: float, slack: float) -> None:
        """Go to the last key frame that is shown at or before this time."""
        key = bisect.bisect_right(self._keys, pts + slack) - 1
        while True:
            target = self._keys[key] if key >= 0 else 0
            self._container.seek(target, stream=self._stream, backward=True)
            self._decoded, self._last = self._container.decode(self._stream), None
            self._last = next(self._decoded)
            # The index has decoding times; if frames are reordered, a key frame is shown later than it is decoded.
            if self._last.pts <= pts + slack or key <= 0:
                return
            key -= 1

    def _is_ahead(self, pts: float, slack: float) -> bool:
        """Whether decoding onward is fastest, because there is no key frame in between."""
        if self._decoded is None or self._last is None or self._last.pts > pts + slack:
            return False
        key = bisect.bisect_right(self._keys, pts + slack) - 1
        return key < 0 or self._keys[key] <= self._last.pts

    def _no_frame(self, pts: float, nearest_frame: Any) -> DatasetFault:
        near = "" if nearest_frame is None else f"; the nearest decoded one is at {float(nearest_frame.time):.4f} s"
        return DatasetFault(
            f"{self._path} has no frame at {float(pts * self._base):.4f} s within the tolerance{near}. "
            "The video is cut short, or its timestamps do not match the data"
        )


class TorchcodecReader:
    """A video file read by torchcodec."""

    def __init__(self, path: Path, open_file: OpenFile | None = None) -> None:
        try:
            from torchcodec.decoders import VideoDecoder
        except Exception as error:  # a system library may be missing too
            raise SetupError(
                f"the video backend torchcodec cannot be used ({one_line(error)}); use pyav, or install it"
            ) from error
        self._path = path
        source = open_file(path) if open_file else str(path)
        try:
            self._decoder = VideoDecoder(source, num_ffmpeg_threads=1, seek_mode="approximate")
        except (RuntimeError, ValueError, OSError) as error:
            raise DatasetFault(f"{path} is missing, damaged or cut short: {one_line(error)}") from error
        self._rate = self._decoder.metadata.average_fps

    def planes_at(self, seconds: Sequence[float], tolerance_s: float) -> np.ndarray:
        """Compute frame numbers from the times, and decode them."""
        numbers = [round(second * self._rate) for second in seconds]
        try:
            batch = self._decoder.get_frames_at(numbers)
        except (RuntimeError, IndexError, ValueError) as error:
            raise DatasetFault(f"{self._path} has no frame at {min(seconds):.4f} s: {one_line(error)}") from error
        for second, shown in zip(seconds, batch.pts_seconds.tolist(), strict=True):
            if abs(second - shown) > tolerance_s:
                raise DatasetFault(
                    f"{self._path} has no frame at {second:.4f} s within the tolerance; the nearest is at {shown:.4f} s"
                )
        return batch.data.numpy()

    def close(self) -> None:
        """Close the file."""
        del self._decoder


def check_backend(name: str | None) -> str:
    """The backend's name, or the default; raise if it cannot be used here."""
    backend = name or "pyav"  # always installed, and needs no system library
    if backend not in READERS:
        raise UsageError(f"unknown video backend '{backend}'{nearest(backend, READERS)} use {' or '.join(READERS)}")
    if backend == "torchcodec" and importlib.util.find_spec("torchcodec") is None:
        raise SetupError("torchcodec is not installed: `pip install 'torchcodec<0.14'`, or use the video backend pyav")
    return backend


READERS: dict[str, Callable[[Path, OpenFile | None], VideoReader]] = {
    "pyav": PyAVReader,
    "torchcodec": TorchcodecReader,
}


class VideoReaders:
    """Keeps a process's most recently used videos open. Safe with threads, forks and pickling."""

    def __init__(self, backend: str | None = None, open_file: OpenFile | None = None) -> None:
        self.backend = check_backend(backend)
        self._open_file = open_file
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._open: OrderedDict[Path, VideoReader] = OrderedDict()

    def frames_at(self, path: Path, seconds: Sequence[float], tolerance_s: float) -> np.ndarray:
        """The frames of a video at these times, as (n, height, width, 3) bytes."""
        return self.planes_at(path, seconds, tolerance_s).transpose(0, 2, 3, 1)

    def planes_at(self, path: Path, seconds: Sequence[float], tolerance_s: float) -> np.ndarray:
        """The frames of a video at these times, as (n, 3, height, width) bytes."""
        if self._process != os.getpid():
            # A forked decoder shares its file position and has lost its threads: it must not be touched again.
            self._inherited = self._open
            self._start()
        with self._lock:
            reader = self._open.pop(path, None) or READERS[self.backend](path, self._open_file)
            try:
                planes = reader.planes_at(seconds, tolerance_s)
            except BaseException:
                reader.close()
                raise
            self._open[path] = reader
            while len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)[1].close()
        return planes

    def close(self) -> None:
        """Close all videos."""
        while self._open:
            self._open.popitem()[1].close()

    def __getstate__(self) -> dict[str, Any]:
        return {"backend": self.backend, "_open_file": self._open_file}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()
