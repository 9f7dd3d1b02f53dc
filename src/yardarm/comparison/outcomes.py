"""What a comparison needs to know of a run, whoever made it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from yardarm.results import Software

__all__ = ["EpisodeName", "EpisodeOutcome", "RunOutcomes"]


@dataclass(frozen=True, slots=True, order=True)
class EpisodeName:
    """What two runs must agree on for an episode to be the same one."""

    task: str
    """With its benchmark: ``metaworld/reach-v3``."""
    index: int
    seed: int

    @classmethod
    def of(cls, benchmark: str, task: str, index: int, seed: int) -> EpisodeName:
        """The name of an episode of one of a benchmark's tasks."""
        return cls(f"{benchmark}/{task}", index, seed)


def _unknown_start() -> np.ndarray | None:
    return None


@dataclass(frozen=True, slots=True)
class EpisodeOutcome:
    """How an episode ended, and where it began."""

    success: bool | None
    """None for an error: nothing is known."""
    start_hash: str | None = None
    start: Callable[[], np.ndarray | None] = _unknown_start
    """Reads the recorded initial state, if there is one."""
    pairable: bool = True
    """False where the run is known not to begin where its seed says."""


@dataclass(frozen=True, slots=True)
class RunOutcomes:
    """A run's outcomes, and what must be said about them."""

    name: str
    path: Path
    outcomes: Mapping[EpisodeName, EpisodeOutcome]
    policy: str = ""
    method: str | None = None
    training_seed: int | None = None
    env: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """The environment's options, by benchmark and suite."""
    software: Software = field(default_factory=dict)
    """The versions that can have changed its episodes."""
    notes: tuple[str, ...] = ()
    """What a reader must know: what was inferred, or is missing."""

    @property
    def tasks(self) -> list[str]:
        """The tasks, in the order of the run."""
        return list(dict.fromkeys(name.task for name in self.outcomes))
