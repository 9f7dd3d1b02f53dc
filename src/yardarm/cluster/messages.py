"""What the driver, the agents of nodes and the replicas of policies say to each other.

Driver → agent: Hire, Give, Entrust, Dismiss, gathered into one call.    agent → driver: Heard.
Agent → replica: Ask, gathered into one call.                             replica → agent: Thought.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from yardarm.envs import MemoryLayout
from yardarm.envs.messages import Answered, Begin, Failed, Order, Play, Refused, Report
from yardarm.errors import PolicyFault, UsageError
from yardarm.policies import Batching, Look, PolicySpec
from yardarm.tasks import EpisodeSpec, TaskSpec

__all__ = [
    "AgentOrder",
    "Ask",
    "Charge",
    "Dismiss",
    "Entrust",
    "Give",
    "Heard",
    "Hire",
    "Opened",
    "Question",
    "Thought",
    "value_of",
]


@dataclass(frozen=True, slots=True)
class Charge:
    """A policy in the replicas' care: how to make it, what it will see, and how its batches are put together."""

    spec: PolicySpec
    id: str
    """The driver's: whoever makes another has another checkpoint, or other sources."""
    tasks: tuple[TaskSpec, ...]
    batching: Batching | None = None

    @property
    def key(self) -> str:
        """What it takes to be the same policy."""
        return repr(self.spec)


@dataclass(frozen=True, slots=True)
class Question:
    """A function to be called with a policy, where that computes."""

    charge: Charge
    function: Callable[..., Any]
    arguments: Mapping[str, Any]


def value_of(answer: Any) -> Any:
    """What the function returned; what the user can mend is raised as such."""
    match answer:
        case Answered(value):
            return value
        case Refused(reason):
            raise UsageError(reason)
        case Failed(text):
            raised = text.strip().splitlines()[-1]
            raise PolicyFault(f"the policy raised {raised} when it was tried on made-up observations", text)
    raise AssertionError(f"{answer!r} is no answer")


@dataclass(frozen=True, slots=True)
class Opened:
    """What an agent found on its node."""

    renderer: str | None


@dataclass(frozen=True, slots=True)
class Hire:
    """Start a worker; the driver has given it its number."""

    worker: int
    task: TaskSpec
    layout: MemoryLayout


@dataclass(frozen=True, slots=True)
class Give:
    """An order for a worker, whose report the driver wants."""

    worker: int
    order: Order


@dataclass(frozen=True, slots=True)
class Entrust:
    """Have a worker play a whole episode with a replica's policy; the driver hears of its end."""

    worker: int
    begin: Begin
    policy: str
    charge: Any
    """A reference to the policy's `Charge`, for a replica that has not met it."""
    replica: Any
    """None: the agent keeps the policy itself."""


@dataclass(frozen=True, slots=True)
class Dismiss:
    """Let a worker go."""

    worker: int


AgentOrder = Hire | Give | Entrust | Dismiss


class Heard(NamedTuple):
    """What a worker reported, and the looks that belong to it if the driver must see them."""

    worker: int
    report: Report
    looks: Sequence[Mapping[str, np.ndarray]] = ()
    replica_lost: bool = False
    unmade: str = ""
    """Why its policy could not be made where it was to compute."""


@dataclass(frozen=True, slots=True)
class Ask:
    """An episode that waits for its next actions; `episode` and `charge` stand in its first question only."""

    id: str
    policy: str
    looks: Sequence[Look]
    episode: EpisodeSpec | None = None
    charge: Any = None


class Thought(NamedTuple):
    """What to play, or why there is nothing to play."""

    play: Play | None = None
    seconds: float = 0.0
    fault: str = ""
    """What the policy raised: it would raise again,"""
    trace: str = ""
    """and where in its code."""
    lost: str = ""
    """The replica does not know the episode, or lost what its policy needs: playing it again may help."""
    unmade: str = ""
    """Why there is no such policy here: there may be one elsewhere."""
