"""The global random generators of Python, numpy and torch, as one episode has them."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

__all__ = ["EpisodeGenerators"]


class EpisodeGenerators:
    """Lends global generators to an episode: seeded when it starts, continued at each use, and given back after it."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._states: dict[str, Any] | None = None

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """The generators are the episode's own; afterwards, all of them are as they were."""
        outside = _states()
        if self._states is None:
            _seed(self._seed)
        else:
            _restore(self._states)
        try:
            yield
        finally:
            self._states = _states()
            _restore(outside)


def _seed(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)  # of all devices


def _states() -> dict[str, Any]:
    states = {"python": random.getstate(), "numpy": np.random.get_state(), "torch": torch.get_rng_state()}
    if torch.cuda.is_available():
        states["cuda"] = torch.cuda.get_rng_state_all()
    if torch.backends.mps.is_available():
        states["mps"] = torch.mps.get_rng_state()
    return states


def _restore(states: dict[str, Any]) -> None:
    random.setstate(states["python"])
    np.random.set_state(states["numpy"])
    torch.set_rng_state(states["torch"])
    if "cuda" in states:
        torch.cuda.set_rng_state_all(states["cuda"])
    if "mps" in states:
        torch.mps.set_rng_state(states["mps"])
