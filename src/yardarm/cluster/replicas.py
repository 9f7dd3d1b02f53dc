"""The replicas of policies: started, called, chosen for an episode, ended."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

from yardarm.cluster.connection import Cluster, Node
from yardarm.cluster.placed import PlacedReplica, Reports
from yardarm.cluster.replica import Replica
from yardarm.cluster.replies import ActorReplies
from yardarm.cluster.setup import Setup
from yardarm.envs.messages import Refused
from yardarm.errors import one_line

__all__ = ["Replicas"]

log = logging.getLogger(__name__)


class Replicas:
    """One set of replicas for all policies of a run: each hosts any of them, and makes it at its first request.

    On GPUs a replica has one for itself. Without them it shares the cores with the simulators, as on one machine, so
    that Ray counts no CPU for it.
    """

    def __init__(self, cluster: Cluster, setup: Setup, wanted: int) -> None:
        self._cluster = cluster
        self._setup = setup
        self._wanted = wanted
        self._all: list[PlacedReplica] = []

    def __len__(self) -> int:
        return len(self._all)

    def grow(self, nodes: Sequence[Node]) -> None:
        """Start as many as were asked for, or one for each GPU that is free."""
        present = sum(replica.node is not None for replica in self._all)
        wanted = self._wanted or present + sum(node.free_gpus for node in nodes)
        computing = [node for node in nodes if node.cpus]
        while computing and len(self._all) < wanted:
            node = min(computing, key=lambda node: sum(replica.wanted_node == node.id for replica in self._all))
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

    def call_absent(self, replies: ActorReplies) -> None:
        """Ask those that have not answered yet, or were lost, where they are."""
        for replica in self._all:
            if replica.node is None and not replica.is_called and not replica.is_refused:
                replica.is_called = True
                replies.expect(replica.handle.where.remote(), partial(self._hear, replica))

    def _hear(self, replica: PlacedReplica, future: Any) -> Reports:
        try:
            answer = future.result()
        except Exception as error:  # Ray's own: it is called again at the next check
            replica.is_called = False
            log.debug("a replica does not answer: %s", one_line(error))
            return []
        if isinstance(answer, Refused):
            log.warning("a replica is not used: %s", answer.reason)
            replica.refuse()
        elif not replica.is_refused:
            replica.node, replica.is_called = answer, False
        return []

    def present_beside(self, one: PlacedReplica) -> list[PlacedReplica]:
        """All others that answer."""
        return [replica for replica in self._all if replica.node is not None and replica is not one]

    def choose(self, node: str) -> PlacedReplica | None:
        """The one with the fewest episodes, on this node if one is there; None if none answers."""
        present = [replica for replica in self._all if replica.node is not None]
        here = [replica for replica in present if replica.node == node]
        return min(here or present, key=lambda replica: replica.episodes, default=None)

    def close(self) -> None:
        """End them; the connection may be somebody else's, and outlive the run."""
        for replica in self._all:
            self._cluster.ray.kill(replica.handle)
        self._all.clear()
