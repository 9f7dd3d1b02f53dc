"""What a recording tells those who watch it. The base class keeps silent."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from yardarm.evaluation import EvaluationListener
from yardarm.recording.source_episodes import SourceEpisode
from yardarm.results import RunResult

if TYPE_CHECKING:
    from yardarm.recording.writing import RecordedDataset

__all__ = ["RecordingListener"]


class RecordingListener:
    """Override what you want to hear."""

    def evaluating(self) -> AbstractContextManager[EvaluationListener]:
        """Entered while the episodes are played for the first time; gives what listens to that."""
        return contextlib.nullcontext(EvaluationListener())

    def played(self, result: RunResult, too_few: Mapping[str, int]) -> None:
        """The episodes were played; these tasks have fewer successes than were asked for."""

    def nothing_to_record(self, result: RunResult) -> None:
        """The run has no episode that can be recorded."""

    def writing(self, result: RunResult) -> AbstractContextManager[None]:
        """Entered while the dataset is written."""
        return contextlib.nullcontext()

    def started(self, root: Path, missing: int, frames: int, before: int) -> None:
        """The dataset has `before` episodes; `missing` more are about to be recorded, with `frames` frames."""

    def seen(self) -> None:
        """A frame was looked at."""

    def saved(self, source: SourceEpisode) -> None:
        """An episode is part of the dataset."""

    def skipped(self, source: SourceEpisode, reason: str) -> None:
        """An episode could not be recorded."""

    def written(self, dataset: RecordedDataset) -> None:
        """The dataset is complete, but for what was skipped."""

    def pushed(self, address: str) -> None:
        """The dataset is on the Hub."""
