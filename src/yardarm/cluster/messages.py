"""What the driver, the agents of nodes and the hosts of policies say to each other.

driver ── Hire, ForwardOrder, DelegateEpisode, Dismiss: gathered into one call ──▶ agent
driver ◀── WorkerReport ──────────────────────────────────────────────────────── agent
agent ── ActionRequest: gathered into one call ──▶ policy host (a replica, or the agent itself)
agent ◀── PolicyAnswer ────────────────────────── policy host
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
    "ActionRequest",
    "AgentOrder",
    "AgentReady",
    "DelegateEpisode",
    "Dismiss",
    "ForwardOrder",
    "Hire",
    "HostedPolicy",
    "PolicyAnswer",
    "PolicyCall",
    "WorkerReport",
    "value_of",
]


@dataclass(frozen=True, slots=True)
class HostedPolicy:
    """A policy that other processes host: how to make it, what it will see, and how its batches are put together."""

    spec: PolicySpec
    id: str
    """The driver's: a host that makes a policy with another id has another checkpoint, or other sources."""
    tasks: tuple[TaskSpec, ...]
    batching: Batching | None = None

    @property
    def key(self) -> str:
        """Equal for the same policy."""
        return repr(self.spec)


@dataclass(frozen=True, slots=True)
class PolicyCall:
    """Call a function with a policy, where the policy computes."""

    policy: HostedPolicy
    function: Callable[..., Any]
    arguments: Mapping[str, Any]


def value_of(answer: Any) -> Any:
    """What the function of a `PolicyCall` returned; raises a `UsageError` for what the user can fix."""
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
class AgentReady:
    """An agent has imported its node's simulators, and found what renders."""

    renderer: str | None


@dataclass(frozen=True, slots=True)
class Hire:
    """Start a worker; the driver has given it its number."""

    worker: int
    task: TaskSpec
    layout: MemoryLayout


@dataclass(frozen=True, slots=True)
class ForwardOrder:
    """Pass an order on to a worker; the driver wants its report."""

    worker: int
    order: Order


@dataclass(frozen=True, slots=True)
class DelegateEpisode:
    """Have a worker play a whole episode with a hosted policy; the driver hears of its end only."""

    worker: int
    begin: Begin
    policy: str
    """The key of the `HostedPolicy`."""
    hosted: Any
    """A reference to the `HostedPolicy`, for a host that has not met it."""
    replica: Any
    """The replica that hosts the policy; None: the agent itself."""


@dataclass(frozen=True, slots=True)
class Dismiss:
    """Let a worker go."""

    worker: int


AgentOrder = Hire | ForwardOrder | DelegateEpisode | Dismiss


class WorkerReport(NamedTuple):
    """What a worker reported, and its looks if the driver must see them."""

    worker: int
    report: Report
    looks: Sequence[Mapping[str, np.ndarray]] = ()
    replica_lost: bool = False
    cannot_make: str = ""
    """Why its policy could not be made where it was to compute."""


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """An episode waits for its next actions; only its first request has `episode` and `hosted`."""

    id: str
    policy: str
    looks: Sequence[Look]
    episode: EpisodeSpec | None = None
    hosted: Any = None


class PolicyAnswer(NamedTuple):
    """What to play, or why there is nothing to play."""

    play: Play | None = None
    seconds: float = 0.0
    fault: str = ""
    """What the policy raised: it would raise again,"""
    trace: str = ""
    """and where in its code."""
    lost: str = ""
    """The host does not know the episode, or lost what its policy needs: playing it again may help."""
    cannot_make: str = ""
    """Why this host cannot make the policy: another host may be able to."""
