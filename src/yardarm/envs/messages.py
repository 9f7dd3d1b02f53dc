"""What the scheduler and a worker say to each other. Small: pixels go through shared memory.

Enter    → (nothing)                 Begin → Seen
Play     → Seen | Finished           Run   → Alive … Finished
Finish   → Finished                  any   → Failed | PolicyFailed

Ask      → Answered | Refused | Failed; the only order before Enter.

Filmed: the worker has put a film's frame into shared memory and waits for Proceed; the pool sees to it.
Died: said by the pool of a worker that cannot speak any more.
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
    """What to film while an episode is played: every so many steps, from one camera."""

    camera: str
    height: int
    width: int
    every: int


@dataclass(frozen=True, slots=True)
class Ask:
    """Call a function of plain values that can be answered in a worker only: what renders there, what a task offers."""

    function: str
    """``"module:name"``."""
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Enter:
    """The first order but for questions: the task whose simulator this worker will hold, and its memory's layout."""

    task: TaskSpec
    layout: MemoryLayout
    heartbeat_s: float = 1.0
    """How often to say `Alive` while playing a whole episode."""


@dataclass(frozen=True, slots=True)
class Begin:
    """Reset for an episode and look at it."""

    episode: EpisodeSpec
    wanted: tuple[str, ...]
    film: Film | None = None


class Play(NamedTuple):
    """Play a chunk open loop.

    A tuple with plain bytes, because it is said most often: an array, or a dataclass, pickles several times slower.
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
    """Run a whole episode with a policy that lives in the worker."""

    episode: EpisodeSpec
    policy: PolicySpec
    film: Film | None = None


@dataclass(frozen=True, slots=True)
class Finish:
    """End the episode where it is, and tell of it."""


@dataclass(frozen=True, slots=True)
class Proceed:
    """The frame has been taken."""


Order = Ask | Enter | Begin | Play | Run | Finish | Proceed


@dataclass(slots=True)
class Timing:
    """Where an episode's seconds went in its worker."""

    build_s: float = 0.0
    reset_s: float = 0.0
    step_s: float = 0.0
    look_s: float = 0.0
    policy_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Rollout:
    """All that is known of a played episode."""

    success: bool
    terminated: bool
    actions: np.ndarray
    rewards: np.ndarray
    initial_state: np.ndarray
    fingerprints: dict[int, str]
    """Hash of the physical state after so many steps."""
    travel: float
    """How far the robot's own state is from where it began; NaN where an environment does not show it."""
    timing: Timing


class Seen(NamedTuple):
    """Looks that lie in shared memory: for each, the episode's step and the inputs that were read."""

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
    """A frame lies in shared memory."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What the function returned."""

    value: Any


@dataclass(frozen=True, slots=True)
class Refused:
    """The function says what the user can mend."""

    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The simulator raised, in the worker."""

    traceback: str


@dataclass(frozen=True, slots=True)
class PolicyFailed:
    """A policy that lives with the worker raised: it would raise again."""

    message: str
    trace: str = ""
    """Where in its code."""


@dataclass(frozen=True, slots=True)
class Died:
    """The worker is gone, or does not answer."""

    reason: str
    blameless: bool = False
    """Whether it went with its machine: the episode had no part in it."""


Report = Seen | Finished | Alive | Filmed | Answered | Refused | Failed | PolicyFailed | Died
