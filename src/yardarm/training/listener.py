"""What a training reports while it runs. The base class keeps silent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["TrainingListener"]


class TrainingListener:
    """Is notified by a training; says whether it should stop."""

    def preparing(self, what: str) -> None:
        """Something takes a moment before the first step."""

    def noticed(self, lines: Sequence[str]) -> None:
        """Something about the dataset is worth knowing."""

    def started(self, path: Path, step: int, steps: int, summary: str) -> None:
        """The first step is about to start."""

    def stepped(self, step: int) -> None:
        """A step is done."""

    def point(self, point: Mapping[str, Any]) -> None:
        """The learning curve has a new point."""

    def waiting(self, evaluations: int) -> None:
        """Training is done, or pauses; this many evaluations are left."""

    def shall_stop(self) -> bool:
        """Whether to stop after this step, with a checkpoint."""
        return False
