"""The agents of nodes, their workers and the replicas of policies, as the driver sees them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from yardarm.cluster.connection import Node
from yardarm.cluster.messages import AgentOrder, AgentReady, Dismiss, Hire
from yardarm.envs import MemoryLayout
from yardarm.envs.messages import Order, Report, Run
from yardarm.tasks import TaskSpec

__all__ = ["ClusterWorker", "PlacedAgent", "PlacedReplica", "Reports"]

Reports: TypeAlias = "list[tuple[ClusterWorker, Report]]"


class ClusterWorker:
    """A worker on some node."""

    def __init__(
        self, task: TaskSpec, number: int, agent: PlacedAgent, order: Callable[[ClusterWorker, Order], None]
    ) -> None:
        self.task = task
        self.number = number
        self.agent = agent
        self.looks: list[dict[str, np.ndarray]] = []
        self.on_frame: Callable[[np.ndarray], None] | None = None
        self.delegated: Run | None = None
        """The last whole episode that was left to its node."""
        self.replica: PlacedReplica | None = None
        """What hosts the policy of that episode, if not the agent."""
        self._order = order

    @property
    def is_hired(self) -> bool:
        """False: it was dismissed, or its node was lost."""
        return self.number in self.agent.workers

    def order(self, order: Order) -> None:
        """Give an order; it leaves with all others at the pool's next `wait`."""
        self._order(self, order)

    def leave_replica(self) -> None:
        """Its episode is over, for the replica that hosts the policy."""
        if self.replica is not None:
            self.replica.episodes -= 1
            self.replica = None


@dataclass(slots=True, eq=False)
class PlacedAgent:
    """A node's agent: its actor, its workers, and the orders that wait to be sent."""

    node: Node
    handle: Any
    cpus: int
    places: int = 0
    asked_to_open: float = math.inf
    ready: AgentReady | None = None
    workers: dict[int, ClusterWorker] = field(default_factory=dict)
    orders: list[AgentOrder] = field(default_factory=list)
    batches_sent: int = 0

    @property
    def free(self) -> int:
        """How many more workers it can have."""
        return self.places - len(self.workers) if self.ready else 0

    def hire(self, worker: ClusterWorker, layout: MemoryLayout) -> None:
        """Have the agent start a worker."""
        self.workers[worker.number] = worker
        self.orders.append(Hire(worker.number, worker.task, layout))

    def dismiss(self, worker: ClusterWorker) -> None:
        """Have the agent let a worker go, if the node was not lost before."""
        if self.workers.pop(worker.number, None) is not None:
            self.orders.append(Dismiss(worker.number))

    def send_orders(self) -> None:
        """Send what was ordered, as one call."""
        if self.orders:
            self.handle.obey.remote(self.batches_sent, self.orders)
            self.batches_sent, self.orders = self.batches_sent + 1, []


@dataclass(slots=True, eq=False)
class PlacedReplica:
    """One replica: its actor, the node where it answered last, and how many episodes it plays."""

    handle: Any
    wanted_node: str
    node: str | None = None
    """None: it has not answered yet, or was lost; Ray restarts it, on this node or another."""
    episodes: int = 0
    is_called: bool = False
    is_refused: bool = False

    def refuse(self) -> None:
        """Have no more episodes played by it."""
        self.node, self.is_refused = None, True
