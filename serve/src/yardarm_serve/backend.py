"""What can be served: a policy that looks, answers with actions, and keeps what belongs to an episode in its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

__all__ = ["Answer", "Backend", "BackendError", "Contract", "Episode", "Look", "Request"]


class BackendError(Exception):
    """What the user can mend: it is said in one line."""


@dataclass(frozen=True)
class Contract:
    """What a backend reads and answers with; clients are told of it."""

    id: str
    inputs: Mapping[str, tuple[int, ...] | None] = field(default_factory=dict)
    """Names and shapes; images are (height, width, channel), None is any shape."""
    images: tuple[str, ...] = ()
    """Those of the inputs that are bytes from a camera."""
    steps: int = 1
    """How many of the last looks it reads."""
    action_size: int | None = None
    instruction: bool = False
    """Whether it reads the task's instruction, and can do nothing without."""
    episodes: int | None = None
    """How many episodes it can serve at the same time; None is any number."""
    repeatable: bool = False
    """Whether an episode's actions are the same, to the last bit, whoever shares its batches."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """Plain values for a client's records: type, path, versions."""

    def __post_init__(self) -> None:
        for name in self.images:
            if name not in self.inputs:
                raise BackendError(f"images of the contract names '{name}', which is not among its inputs")

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
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
    """What a client says of an episode; openpi's and vla-eval's say little."""

    instruction: str = ""
    seed: int = 0
    index: int = 0
    benchmark: str = ""
    environment: str = ""
    """A name for the environment's options."""
    task: str = ""
    action_size: int | None = None
    action_low: float | tuple[float, ...] = -1.0
    action_high: float | tuple[float, ...] = 1.0


@dataclass(frozen=True)
class Look:
    """What was seen after `step` actions of the episode."""

    step: int
    values: Mapping[str, np.ndarray]


@dataclass
class Request:
    """An episode that waits for its next actions: its state, and the looks since the last answer, oldest first."""

    episode: Episode
    state: Any
    looks: Sequence[Look]


@dataclass(frozen=True)
class Answer:
    """Actions (how many, action size) to play, and for each input after how many of them it will be read.

    Without offsets every input is read after the last action.
    """

    actions: np.ndarray
    looks: Mapping[str, Sequence[int]] = field(default_factory=dict)


class Backend(Protocol):
    """A policy behind a server. Its methods are called from one thread, one after the other.

    One that answers several requests no faster together says `gains_from_batches = False`: it gets them one by one, and
    nobody is waited for.
    """

    contract: Contract

    def start(self, episode: Episode) -> Any:
        """Make the state of one episode."""

    def infer(self, requests: Sequence[Request]) -> Sequence[Answer]:
        """Answer each request, in order, changing nothing but their states.

        Their values have the same names and shapes. Where it raises for several, each is asked again alone, with a copy
        of its state from before, so that one client's mistake is one client's error.
        """
