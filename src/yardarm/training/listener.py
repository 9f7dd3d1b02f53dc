"""What a training tells whoever watches it. The base class keeps silent."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["TrainingListener"]


class TrainingListener:
    """Hears of a training; says whether it shall stop."""

    def preparing(self, what: str) -> None:
        """Something takes a moment before the first step."""

    def started(self, path: Path, step: int, steps: int, summary: str) -> None:
        """The first step is about to begin."""

    def stepped(self, step: int) -> None:
        """A step is done."""

    def point(self, point: Mapping[str, Any]) -> None:
        """The learning curve has a new point."""

    def waiting(self, evaluations: int) -> None:
        """Training is done, or pauses; so many evaluations are not."""

    def shall_stop(self) -> bool:
        """Whether to stop after this step, with a checkpoint."""
        return False
