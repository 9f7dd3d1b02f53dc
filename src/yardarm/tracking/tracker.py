"""What an evaluation tells a tracker. The base class keeps silent."""

from __future__ import annotations

from collections.abc import Iterable

from yardarm.results import EpisodeRecord, ManifestWriter, RunResult

__all__ = ["Tracker"]


class Tracker:
    """Tracks one run, from its folder to its results."""

    def attach(self, manifest: ManifestWriter) -> None:
        """The run has a folder; what must be remembered of the tracking goes into its manifest."""

    def begin(self, known: Iterable[EpisodeRecord]) -> None:
        """The first episode is about to start; these are known from earlier sessions."""

    def count(self, record: EpisodeRecord) -> None:
        """An episode is in the journal."""

    def finish(self, result: RunResult) -> None:
        """The run has ended, finished or not, and its files are written."""
