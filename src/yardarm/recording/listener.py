"""What a recording tells whoever watches it. The base class keeps silent."""

from __future__ import annotations

from pathlib import Path

from yardarm.recording.takes import Take

__all__ = ["RecordingListener"]


class RecordingListener:
    """Override what you want to hear."""

    def started(self, root: Path, missing: int, frames: int, before: int) -> None:
        """So many episodes with so many frames are going to be recorded; some were before."""

    def seen(self) -> None:
        """A frame was looked at."""

    def saved(self, take: Take) -> None:
        """An episode is part of the dataset."""

    def skipped(self, take: Take, reason: str) -> None:
        """An episode could not be recorded."""
