"""The small protocol that every simulator is put behind."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple, Protocol

import numpy as np

from yardarm.tasks import EpisodeSpec

__all__ = ["Observation", "Simulator", "Step", "fingerprint"]

Observation = dict[str, np.ndarray]


class Step(NamedTuple):
    """What a step says. No pixels: those are what `Simulator.observe` is for."""

    reward: float
    success: bool
    terminated: bool
    truncated: bool


class Simulator(Protocol):
    """One task's simulator. It lives in a worker, or in the main process when debugging."""

    def reset(self, episode: EpisodeSpec) -> None:
        """Start an episode; what follows depends on the episode alone, not on what ran before."""

    def step(self, action: np.ndarray) -> Step:
        """Play one action. Cheap."""

    def observe(self, wanted: Iterable[str]) -> Observation:
        """Return the named inputs as they are now. Costly when images are among them."""

    def frame(self, camera: str, height: int, width: int) -> np.ndarray:
        """Render an RGB frame for a video, the right way up."""

    def state(self) -> np.ndarray:
        """The physical state as one flat float64 array; equal states are followed by equal futures."""

    def close(self) -> None:
        """Free what the simulator holds."""


def fingerprint(state: np.ndarray) -> str:
    """A short hash of a physical state, to the last bit."""
    return hashlib.sha256(np.ascontiguousarray(state, dtype=np.float64).tobytes()).hexdigest()[:16]
