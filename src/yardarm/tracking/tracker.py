"""The interface between an evaluation and a tracker. The base class does nothing."""

from __future__ import annotations

from collections.abc import Iterable

from yardarm.results import EpisodeRecord, ManifestWriter, RunResult

__all__ = ["Tracker"]


class Tracker:
    """Tracks one run from start to finish."""

    def attach(self, manifest: ManifestWriter) -> None:
        """Called when the run has a folder; stores what tracking must remember in the manifest."""

    def begin(self, known: Iterable[EpisodeRecord]) -> None:
        """Called before the first episode starts, with the episodes of earlier sessions."""

    def count(self, record: EpisodeRecord) -> None:
        """Called when an episode is in the journal."""

    def finish(self, result: RunResult) -> None:
        """Called when the run has ended, finished or not, and its files are written."""
