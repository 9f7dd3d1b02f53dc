"""The messages between the scheduler and a worker. They are small: pixels go through shared memory.

Enter    → (nothing)                 Begin → Seen
Play     → Seen | Finished           Run   → Alive … Finished
Finish   → Finished                  any   → Failed | PolicyFailed

Ask      → Answered | Refused | Failed; sent instead of Enter, and the worker's only order.

Filmed: the worker has put a film's frame into shared memory, and waits for Proceed, which the pool sends.
Died: reported by the pool for a worker that no longer answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from yardarm.envs.shared_memory import MemoryLayout
from yardarm.policies import PlayableChunk, PolicySpec
from yardarm.tasks import EpisodeSpec, TaskSpec

__all__ = [
    "Alive",
    "Answered",
    "Ask",
    "Begin",
    "Died",
    "Enter",
    "Failed",
    "Film",
    "Filmed",
    "Finish",
    "Finished",
    "Order",
    "Play",
    "PolicyFailed",
    "Proceed",
    "Refused",
    "Report",
    "Rollout",
    "Run",
    "Seen",
    "Timing",
]


@dataclass(frozen=True, slots=True)
class Film:
    """What to film while an episode is played: every n-th step, from one camera."""

    camera: str
    height: int
    width: int
    every: int
    first: int = 0
    """No frame before this step."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Call a function that works only in a worker, with plain values: what renders there, what a task offers."""

    function: str
    """``"module:name"``."""
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Enter:
    """The first order: which task this worker plays, and the layout of its memory."""

    task: TaskSpec
    layout: MemoryLayout
    heartbeat_s: float = 1.0
    """How often to send `Alive` while playing a whole episode."""


@dataclass(frozen=True, slots=True)
class Begin:
    """Reset for an episode, and take the first look."""

    episode: EpisodeSpec
    wanted: tuple[str, ...]
    film: Film | None = None


class Play(NamedTuple):
    """Play a chunk open loop.

    A tuple with plain bytes, because it is the most frequent message: an array or a dataclass pickles several times
    slower.
    """

    actions: bytes
    looks: dict[int, tuple[str, ...]]

    @classmethod
    def of(cls, chunk: PlayableChunk) -> Play:
        """Pack a chunk."""
        return cls(chunk.actions.tobytes(), chunk.looks)

    def chunk(self, task: TaskSpec) -> PlayableChunk:
        """Unpack it."""
        return PlayableChunk(np.frombuffer(self.actions, np.float32).reshape(-1, task.env.action.size), self.looks)


@dataclass(frozen=True, slots=True)
class Run:
    """Run a whole episode with a policy in the worker."""

    episode: EpisodeSpec
    policy: PolicySpec
    film: Film | None = None


@dataclass(frozen=True, slots=True)
class Finish:
    """End the episode now, and report it."""


@dataclass(frozen=True, slots=True)
class Proceed:
    """The frame has been read; continue."""


Order = Ask | Enter | Begin | Play | Run | Finish | Proceed


@dataclass(slots=True)
class Timing:
    """How an episode's time in its worker was spent."""

    build_s: float = 0.0
    reset_s: float = 0.0
    step_s: float = 0.0
    look_s: float = 0.0
    policy_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Rollout:
    """The record of a played episode."""

    success: bool
    terminated: bool
    actions: np.ndarray
    rewards: np.ndarray
    initial_state: np.ndarray
    fingerprints: dict[int, str]
    """Hashes of the physical state, by the number of steps before them."""
    travel: float
    """How far the robot's state ended from where it began; NaN if the environment does not show it."""
    timing: Timing


class Seen(NamedTuple):
    """Looks in shared memory: for each, the episode's step and the inputs that were read."""

    looks: tuple[tuple[int, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Finished:
    """The episode is over."""

    rollout: Rollout


@dataclass(frozen=True, slots=True)
class Alive:
    """A long episode is still being played."""

    steps: int


@dataclass(frozen=True, slots=True)
class Filmed:
    """A frame is in shared memory."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What the function returned."""

    value: Any


@dataclass(frozen=True, slots=True)
class Refused:
    """The function raised an error that the user can fix."""

    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The simulator raised an exception."""

    traceback: str


@dataclass(frozen=True, slots=True)
class PolicyFailed:
    """A policy in the worker raised an exception: it would raise again."""

    message: str
    trace: str = ""
    """Where in its code, as a traceback."""


@dataclass(frozen=True, slots=True)
class Died:
    """The worker has ended, or does not answer."""

    reason: str
    blameless: bool = False
    """Whether its machine was lost: then the episode is not to blame."""


Report = Seen | Finished | Alive | Filmed | Answered | Refused | Failed | PolicyFailed | Died
