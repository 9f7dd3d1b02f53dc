"""What a policy is: it looks, it answers with a chunk of actions, and it keeps nothing between calls.

All that belongs to an episode lives in the state that `Policy.start` made for it, so that one policy serves
any number of episodes and tasks at the same time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from yardarm.errors import UsageError
from yardarm.tasks import EpisodeSpec

__all__ = ["TASK", "ActionChunk", "Look", "ObservationSpec", "Outcome", "Policy", "Releasable", "Request"]

# What instructions are called among the inputs of a batch, where they are a list of texts; as LeRobot calls them.
TASK = "task"


@dataclass(frozen=True, slots=True)
class ObservationSpec:
    """What a policy reads: the names of its inputs, and at how many steps of a chunk it looks at most.

    `shapes` are those that it was made for, where it knows; an environment that offers others is refused, but for
    images in `resizable`, which the policy brings to their size itself. `own_names` are what the policy calls inputs
    that it renames. With `instruction` it reads the task's instruction, too: a task without one is refused.
    """

    inputs: tuple[str, ...] = ()
    steps: int = 1
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    resizable: tuple[str, ...] = ()
    own_names: Mapping[str, str] = field(default_factory=dict)
    instruction: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.inputs, str):
            raise UsageError(f"inputs of an ObservationSpec must be a tuple, got '{self.inputs}': is a comma missing?")
        if self.steps < 1:
            raise UsageError(f"steps of an ObservationSpec must be at least 1, got {self.steps}")
        object.__setattr__(self, "inputs", tuple(self.inputs))


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen after `step` actions of the episode.

    The arrays may lie in memory that is written again after `Policy.infer` returns: copy what you keep.
    """

    step: int
    values: Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Request:
    """One episode that waits for its next actions: its own state, and the looks since the last answer."""

    episode: EpisodeSpec
    state: Any
    looks: Sequence[Look]

    @property
    def observation(self) -> Mapping[str, np.ndarray]:
        """The newest look's inputs."""
        return self.looks[-1].values


@dataclass(frozen=True, slots=True)
class ActionChunk:
    """Actions to play open loop, and when to look meanwhile.

    `looks` maps an input to the offsets at which it is read: offset k means after k actions of this chunk.
    Left empty, all inputs are read after the last action. An episode that ends earlier is not looked at again.
    """

    actions: np.ndarray
    looks: Mapping[str, Sequence[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an episode ended."""

    success: bool
    steps: int
    seconds: float


class Policy(Protocol):
    """A policy that Yardarm can evaluate.

    `place` is "host" for a policy that infers in the main process, in batches over episodes, or "worker" for
    one that needs numpy only and is fastest beside the simulator.

    Optional attributes: `traits`, a `Traits`; `id`, the name that results are filed under.

    Optional methods: `prepare(tasks)`, before anything starts, may still change `wants` and `traits`; `finish(state,
    outcome)`, when an episode on the host is over (the outcome is None if it was abandoned); `describe()`, what the
    manifest says about it; `close()`, when a run is over. A large policy is `Releasable`, too.
    """

    wants: ObservationSpec
    place: Literal["host", "worker"]

    def start(self, episode: EpisodeSpec) -> Any:
        """Make the state of one episode: its history, its queue, its own random generator."""

    def infer(self, requests: Sequence[Request]) -> Sequence[ActionChunk]:
        """Answer each request, in order. Changes nothing but the requests' states."""


@runtime_checkable
class Releasable(Protocol):
    """A policy that can release its weights while it is not used, and loads them again when it is asked."""

    @property
    def weight_bytes(self) -> int:
        """What `release` frees."""

    @property
    def free_bytes(self) -> int:
        """What is free where the weights are."""

    @property
    def released(self) -> bool:
        """Whether the weights are released at the moment."""

    def release(self) -> None:
        """Release the weights until the next call of `infer`."""
