"""The replicas of policies, as the driver sees them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from yardarm.cluster.connection import Cluster, Node
from yardarm.cluster.replica import Replica
from yardarm.cluster.setup import Setup

__all__ = ["PlacedReplica", "Replicas"]


@dataclass(slots=True, eq=False)
class PlacedReplica:
    """One replica: its actor, the node where it answered last, and how many episodes it plays."""

    handle: Any
    wish: str
    """The node that it should be on."""
    node: str | None = None
    """None: it has not answered yet, or was lost; Ray starts it anew, here or elsewhere."""
    episodes: int = 0
    is_called: bool = False
    is_refused: bool = False

    def refuse(self) -> None:
        """Have no more episodes played by it."""
        self.node, self.is_refused = None, True


class Replicas:
    """One set of replicas for all policies of a run: each holds any of them, and makes it when it is first asked.

    On GPUs a replica has one for itself. Without them it shares the cores with the simulators, as at home, so that Ray
    counts no CPU for it.
    """

    def __init__(self, cluster: Cluster, setup: Setup, wanted: int) -> None:
        self._cluster = cluster
        self._setup = setup
        self._wanted = wanted
        self._all: list[PlacedReplica] = []

    def __len__(self) -> int:
        return len(self._all)

    def grow(self, nodes: Sequence[Node]) -> None:
        """Start as many as were asked for, or as there are GPUs that nobody else uses."""
        present = sum(replica.node is not None for replica in self._all)
        wanted = self._wanted or present + sum(node.free_gpus for node in nodes)
        computing = [node for node in nodes if node.cpus]
        while computing and len(self._all) < wanted:
            node = min(computing, key=lambda node: sum(replica.wish == node.id for replica in self._all))
            place = {"scheduling_strategy": self._cluster.pinned_to(node, soft=True)}
            own = {"num_gpus": 1} if any(node.gpus for node in nodes) else place
            actor = self._cluster.ray.remote(Replica).options(
                num_cpus=0, max_restarts=-1, max_concurrency=Replica.most_calls, **own
            )
            self._all.append(PlacedReplica(actor.remote(self._setup), node.id))

    @property
    def handles(self) -> list[Any]:
        """Their actors."""
        return [replica.handle for replica in self._all]

    def call_absent(self, hear: Callable[[PlacedReplica, Any], None]) -> None:
        """Ask those that were not heard of where they are."""
        for replica in self._all:
            if replica.node is None and not replica.is_called and not replica.is_refused:
                replica.is_called = True
                replica.handle.where.remote().future().add_done_callback(_telling(hear, replica))

    def close(self) -> None:
        """End them; the connection may be somebody else's, and outlive the run."""
        for replica in self._all:
            self._cluster.ray.kill(replica.handle)
        self._all.clear()

    def present_beside(self, one: PlacedReplica) -> list[PlacedReplica]:
        """All others that answer."""
        return [replica for replica in self._all if replica.node is not None and replica is not one]

    def choose(self, node: str) -> PlacedReplica | None:
        """The one with the fewest episodes, on this node if there is one; None if none is there."""
        present = [replica for replica in self._all if replica.node is not None]
        here = [replica for replica in present if replica.node == node]
        return min(here or present, key=lambda replica: replica.episodes, default=None)


def _telling(hear: Callable[[PlacedReplica, Any], None], replica: PlacedReplica) -> Callable[[Any], None]:
    return lambda future: hear(replica, future)
