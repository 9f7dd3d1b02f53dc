"""The agents of nodes: sent to each node that joins, opened, refused if they do not fit, replaced when they die."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from yardarm.cluster.agent import NodeAgent
from yardarm.cluster.connection import Cluster, Node
from yardarm.cluster.messages import WorkerReport
from yardarm.cluster.placed import PlacedAgent, Reports
from yardarm.cluster.replies import ActorReplies
from yardarm.cluster.setup import Setup
from yardarm.envs.messages import Died, Refused
from yardarm.errors import one_line

__all__ = ["Agents"]

log = logging.getLogger(__name__)

# How long a node may take to import its simulators.
OPEN_LIMIT_S = 300.0
# A node whose agent died this often, while the node itself lives, is left alone.
MOST_DEATHS = 3
CLOSE_LIMIT_S = 10.0

Hear = Callable[[PlacedAgent, WorkerReport], Reports]


class Agents:
    """One agent on each node with CPUs to spare; `hear` is called with what its workers report."""

    def __init__(self, cluster: Cluster, setup: Setup, replies: ActorReplies, hear: Hear, most_workers: int) -> None:
        self._cluster = cluster
        self._setup = setup
        self._replies = replies
        self._hear = hear
        self._most_workers = most_workers
        self._beyond_cpus: int | None = None
        self._by_node: dict[str, PlacedAgent] = {}
        self._deaths: Counter[str] = Counter()
        self.refused: dict[str, str] = {}
        """Why a node is not used, by the node's name."""

    def __iter__(self) -> Iterator[PlacedAgent]:
        return iter(self._by_node.values())

    def __len__(self) -> int:
        return len(self._by_node)

    @property
    def ready(self) -> list[PlacedAgent]:
        """Those whose nodes have imported their simulators."""
        return [agent for agent in self if agent.ready]

    @property
    def are_opening(self) -> bool:
        """Whether some are not ready yet."""
        return any(agent.ready is None for agent in self)

    def recruit(self, nodes: Sequence[Node]) -> None:
        """Send an agent to each node that has none, and has CPUs to spare; give up those that do not open."""
        for agent in list(self):
            if agent.ready is None and time.monotonic() > agent.asked_to_open + OPEN_LIMIT_S:
                self.refuse(agent, f"it did not open its simulators within {OPEN_LIMIT_S:g} s")
        for node in nodes:
            room = self._most_workers - sum(agent.cpus for agent in self)
            cpus = min(node.free_cpus, room) if self._most_workers else node.free_cpus
            if cpus > 0 and node.id not in self._by_node and self._deaths[node.id] < MOST_DEATHS:
                self._send_agent(node, cpus)

    def _send_agent(self, node: Node, cpus: int) -> None:
        strategy = self._cluster.pinned_to(node, soft=False)
        actor = self._cluster.ray.remote(NodeAgent).options(num_cpus=cpus, scheduling_strategy=strategy)
        agent = PlacedAgent(node, actor.remote(self._setup), cpus)
        self.add(agent)
        if self._beyond_cpus is not None:
            self._open(agent, self._beyond_cpus)

    def add(self, agent: PlacedAgent) -> None:
        """Have an agent on its node."""
        self._by_node[agent.node.id] = agent

    def open(self, beyond_cpus: int) -> None:
        """Have all import their simulators, now and when they join; each gets `beyond_cpus` workers more than CPUs."""
        self._beyond_cpus = beyond_cpus
        for agent in self:
            self._open(agent, beyond_cpus)

    def _open(self, agent: PlacedAgent, beyond_cpus: int) -> None:
        agent.places, agent.asked_to_open = agent.cpus + beyond_cpus, time.monotonic()
        self._replies.expect(agent.handle.open.remote(agent.places), partial(self._hear_open, agent))

    def _hear_open(self, agent: PlacedAgent, future: Any) -> Reports:
        try:
            answer = future.result()
        except Exception as error:  # Ray's own: the node died, or its interpreter does not fit
            return self.lose(agent, error)
        if not self._is_here(agent):
            return []  # it was given up meanwhile
        if isinstance(answer, Refused):
            self.refuse(agent, answer.reason)
            return []
        agent.ready = answer
        self._listen(agent)
        return []

    def _listen(self, agent: PlacedAgent) -> None:
        self._replies.expect(agent.handle.reports.remote(), partial(self._hear_reports, agent))

    def _hear_reports(self, agent: PlacedAgent, future: Any) -> Reports:
        try:
            reports: list[WorkerReport] = future.result()
        except Exception as error:  # Ray's own: the node or the agent died
            return self.lose(agent, error)
        self._listen(agent)
        # Last those of policies that cannot be made: they may be the end of the agent.
        finished_first = sorted(reports, key=lambda one: bool(one.cannot_make))
        return [told for one in finished_first for told in self._hear(agent, one)]

    def refuse(self, agent: PlacedAgent, reason: str) -> None:
        """Leave a node alone, and say why."""
        log.warning("node %s is not used: %s", agent.node.name, reason)
        self.refused[agent.node.name] = reason
        self._deaths[agent.node.id] = MOST_DEATHS
        self._discard(agent)

    def lose(self, agent: PlacedAgent, error: Exception) -> Reports:
        """A node was lost: the episodes of its workers run elsewhere, and nobody is to blame."""
        if not self._is_here(agent):
            return []  # that is known
        self._deaths[agent.node.id] += 1
        workers = list(agent.workers.values())
        self._discard(agent)
        if agent.ready:
            log.warning("node %s was lost; its %d episodes run elsewhere", agent.node.name, len(workers))
        return [(worker, Died(f"its node was lost: {one_line(error)[:300]}", blameless=True)) for worker in workers]

    def _is_here(self, agent: PlacedAgent) -> bool:
        return self._by_node.get(agent.node.id) is agent

    def _discard(self, agent: PlacedAgent) -> None:
        del self._by_node[agent.node.id]
        agent.workers.clear()
        self._cluster.ray.kill(agent.handle)

    def close(self) -> None:
        """End all workers, on all nodes."""
        ray = self._cluster.ray
        closing = [agent.handle.close.remote() for agent in self.ready]
        if closing:
            ray.wait(closing, num_returns=len(closing), timeout=CLOSE_LIMIT_S)
        for agent in self:
            ray.kill(agent.handle)
        self._by_node.clear()
