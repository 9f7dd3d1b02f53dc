"""The interface of a policy that can be served: it reads looks, answers with actions, and keeps a state per episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

__all__ = ["Answer", "Backend", "BackendError", "Contract", "Episode", "Look", "Request"]


class BackendError(Exception):
    """An error that the user can fix, explained in one line."""


@dataclass(frozen=True)
class Contract:
    """What a backend reads and answers; the server sends it to clients."""

    id: str
    inputs: Mapping[str, tuple[int, ...] | None] = field(default_factory=dict)
    """Names and shapes; images are (height, width, channel), None means any shape."""
    images: tuple[str, ...] = ()
    """The inputs that are camera images of bytes."""
    steps: int = 1
    """How many of the latest looks it reads."""
    action_size: int | None = None
    instruction: bool = False
    """Whether it reads the task's instruction, and can do nothing without."""
    episodes: int | None = None
    """How many episodes it can serve at the same time; None means any number."""
    repeatable: bool = False
    """Whether an episode's actions are bit-identical, whichever requests share its batches."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """Plain values for a client's records: type, path, versions."""

    def __post_init__(self) -> None:
        for name in self.images:
            if name not in self.inputs:
                raise BackendError(f"the contract's images have '{name}', which is not one of its inputs")

    def to_json(self) -> dict[str, Any]:
        """The contract as plain values."""
        return {
            "id": self.id,
            "inputs": {name: None if shape is None else list(shape) for name, shape in self.inputs.items()},
            "images": list(self.images),
            "steps": self.steps,
            "action_size": self.action_size,
            "instruction": self.instruction,
            "episodes": self.episodes,
            "repeatable": self.repeatable,
            "about": dict(self.about),
        }


@dataclass(frozen=True)
class Episode:
    """What a client tells the server about an episode; clients of openpi and vla-eval tell little."""

    instruction: str = ""
    seed: int = 0
    index: int = 0
    benchmark: str = ""
    environment: str = ""
    """A hash of the environment's options."""
    task: str = ""
    action_size: int | None = None
    action_low: float | tuple[float, ...] = -1.0
    action_high: float | tuple[float, ...] = 1.0


@dataclass(frozen=True)
class Look:
    """The observation after `step` actions of the episode."""

    step: int
    values: Mapping[str, np.ndarray]


@dataclass
class Request:
    """An episode that needs its next actions: its state, and the looks since the last answer, oldest first."""

    episode: Episode
    state: Any
    looks: Sequence[Look]


@dataclass(frozen=True)
class Answer:
    """Actions to play, shaped (number, action size), and for each input, after how many of them it is read.

    Without offsets, every input is read after the last action.
    """

    actions: np.ndarray
    looks: Mapping[str, Sequence[int]] = field(default_factory=dict)


class Backend(Protocol):
    """A policy behind a server. Its methods are called from one thread, one at a time.

    If it is not faster with several requests together, it sets `gains_from_batches = False`: it then gets them one by
    one, without waiting for others.
    """

    contract: Contract

    def start(self, episode: Episode) -> Any:
        """Create the state of one episode."""

    def infer(self, requests: Sequence[Request]) -> Sequence[Answer]:
        """Answer each request, in order, changing only their states.

        Their values have the same names and shapes. If a call with several requests raises, each is asked again alone,
        with a copy of its earlier state, so that a client's mistake affects only that client.
        """
