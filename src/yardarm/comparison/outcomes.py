"""What a comparison needs from a run, of Yardarm or of LeRobot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from yardarm.results import PolicyLabel, Software

__all__ = ["EpisodeName", "EpisodeOutcome", "RunOutcomes"]


@dataclass(frozen=True, slots=True, order=True)
class EpisodeName:
    """Identifies an episode across runs."""

    task: str
    """With its benchmark: ``metaworld/reach-v3``."""
    index: int
    seed: int

    @classmethod
    def of(cls, benchmark: str, task: str, index: int, seed: int) -> EpisodeName:
        """The name of an episode of a benchmark's task."""
        return cls(f"{benchmark}/{task}", index, seed)


def _unknown_start() -> np.ndarray | None:
    return None


@dataclass(frozen=True, slots=True)
class EpisodeOutcome:
    """How an episode ended, and its initial state."""

    success: bool | None
    """None for an error: the outcome is unknown."""
    start_hash: str | None = None
    start: Callable[[], np.ndarray | None] = _unknown_start
    """Reads the recorded initial state; None if there is none."""
    pairable: bool = True
    """False if the episode is known not to start where its seed says."""


@dataclass(frozen=True, slots=True)
class RunOutcomes:
    """A run's outcomes, with notes for the reader."""

    name: str
    path: Path
    outcomes: Mapping[EpisodeName, EpisodeOutcome]
    policy: str = ""
    policy_label: PolicyLabel | None = None
    """What to call the policy; None if the run is not Yardarm's."""
    method: str | None = None
    training_seed: int | None = None
    env: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """The environment's options, by benchmark and suite."""
    software: Software = field(default_factory=dict)
    """The versions that may affect its episodes."""
    notes: tuple[str, ...] = ()
    """Assumptions and missing episodes that a reader must know about."""

    @property
    def tasks(self) -> list[str]:
        """The tasks, in the order of the run."""
        return list(dict.fromkeys(name.task for name in self.outcomes))
