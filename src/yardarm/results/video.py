"""Writes MP4 files frame by frame."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from yardarm.files import temporary_path

if TYPE_CHECKING:
    import av

__all__ = ["VideoWriter"]


class VideoWriter:
    """An H.264 video that appears under its name only when it is complete."""

    def __init__(self, path: Path, fps: Fraction) -> None:
        self.path = path
        self._fps = fps
        self._temporary = temporary_path(path)
        self._container: av.container.OutputContainer | None = None
        self.frames = 0

    def add(self, frame: np.ndarray) -> None:
        """Append an RGB frame (height, width, 3)."""
        import av

        if self._container is None:
            self._open(frame.shape[0], frame.shape[1])
        assert self._container is not None
        picture = av.VideoFrame.from_ndarray(_even(frame), format="rgb24")
        self._container.mux(self._stream.encode(picture))
        self.frames += 1

    def finish(self) -> None:
        """Complete the video, and give it its name."""
        if self._container is None:
            return
        self._container.mux(self._stream.encode())
        self._container.close()
        self._container = None
        self._temporary.replace(self.path)

    def discard(self) -> None:
        """Delete the incomplete video."""
        if self._container is not None:
            self._container.close()
            self._container = None
        self._temporary.unlink(missing_ok=True)

    def _open(self, height: int, width: int) -> None:
        import av

        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._container = av.open(str(self._temporary), "w", format="mp4")
        self._stream = self._container.add_stream("libx264", rate=self._fps)
        self._stream.height, self._stream.width = height + height % 2, width + width % 2
        self._stream.pix_fmt = "yuv420p"  # the format that browsers play
        self._stream.options = {"crf": "20", "preset": "veryfast"}


def _even(frame: np.ndarray) -> np.ndarray:
    """Make both sides even, as H.264 requires, by repeating the last row or column."""
    height, width, _ = frame.shape
    if height % 2 or width % 2:
        frame = np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
    return np.ascontiguousarray(frame)
