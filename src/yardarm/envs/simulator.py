"""The protocol that every simulator follows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple, Protocol

import numpy as np

from yardarm.tasks import EpisodeSpec

__all__ = ["Observation", "Simulator", "Step", "fingerprint"]

Observation = dict[str, np.ndarray]


class Step(NamedTuple):
    """The result of a step. No pixels: `Simulator.observe` returns those."""

    reward: float
    success: bool
    terminated: bool
    truncated: bool


class Simulator(Protocol):
    """One task's simulator. It runs in a worker, or in the main process for debugging."""

    def reset(self, episode: EpisodeSpec) -> None:
        """Start an episode. It must depend on the episode alone, not on what ran before."""

    def step(self, action: np.ndarray) -> Step:
        """Play one action. Cheap."""

    def observe(self, wanted: Iterable[str]) -> Observation:
        """Return the current values of the named inputs. Expensive if they include images."""

    def frame(self, camera: str, height: int, width: int) -> np.ndarray:
        """Render an RGB frame for a video, the right way up."""

    def state(self) -> np.ndarray:
        """The physical state as a flat float64 array; equal states must have equal futures."""

    def close(self) -> None:
        """Free the simulator's resources."""


def fingerprint(state: np.ndarray) -> str:
    """A short hash of every bit of a physical state."""
    return hashlib.sha256(np.ascontiguousarray(state, dtype=np.float64).tobytes()).hexdigest()[:16]
