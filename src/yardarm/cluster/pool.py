"""The workers of all nodes as one pool.

    driver: the scheduler's thread                     node: an agent (Ray actor)        its workers
    ──────────────────────────────                     ──────────────────────────        ───────────
    wait: sends the orders of each agent ── obey ─────▶ relay ── a pool of processes ──▶ simulators
          waits for replies ◀── mailbox ── reports ──── (one call to `reports` is always
          or for the caller's descriptors                under way, and waits at the agent)
          once a second: nodes that joined, ── open ──▶ a new agent
          replicas that were lost ────────── where ───▶ a replica (Ray actor), which hosts policies
                                                        and is asked by the agents, not by the driver

The driver has no thread of its own for this: Ray's threads put replies into the mailbox and do nothing else. `agents`
manages nodes, `replicas` and `delegation` policies; `ClusterPool` hires, orders and waits.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

from yardarm.cluster.agents import Agents
from yardarm.cluster.connection import Cluster, Node
from yardarm.cluster.delegation import Delegation
from yardarm.cluster.messages import ForwardOrder, HostedPolicy, PolicyCall, WorkerReport
from yardarm.cluster.placed import ClusterWorker, PlacedAgent, Reports
from yardarm.cluster.replicas import Replicas
from yardarm.cluster.replies import ActorReplies
from yardarm.cluster.setup import Setup
from yardarm.envs import MemoryLayout
from yardarm.envs.messages import Died, Order
from yardarm.errors import EnvironmentFault, SetupError
from yardarm.policies import ObservationSpec
from yardarm.tasks import TaskSpec

__all__ = ["ClusterPool"]

# How often to look for nodes that have joined; asking takes half a millisecond.
CHECK_EVERY_S = 1.0
# How long a cluster may have no node that can work, before the run is given up.
PATIENCE_S = 300.0
# How long a run waits for the other nodes when it could begin with some.
GRACE_S = 60.0
NO_NODE = Died("its node was lost", blameless=True)


class ClusterPool:
    """Workers on all nodes: one that joins is found and gets work, one that dies has its episodes run elsewhere.

    Each node has an agent, an actor with an ordinary pool of processes, so that a worker is forked in milliseconds and
    watched from nearby. Orders to an agent are gathered and sent as one call.
    """

    def __init__(
        self,
        cluster: Cluster,
        setup: Setup,
        replicas: Replicas | None,
        looked_at: Mapping[str, ObservationSpec],
        most_workers: int = 0,
    ) -> None:
        self._cluster = cluster
        self._replicas = replicas
        self._most_workers = most_workers
        self._replies = ActorReplies()
        self._agents = Agents(cluster, setup, self._replies, self._hear, most_workers)
        self._delegation = Delegation(cluster, self._agents, replicas, looked_at)
        self._nowhere = PlacedAgent(Node("", "nowhere", cpus=0, free_cpus=0, gpus=0, free_gpus=0), None, cpus=0)
        self._untold_deaths: Reports = []
        self._numbers = itertools.count()
        self._next_check = 0.0

    @property
    def size(self) -> int:
        """Places on all nodes that are there now; never none, which would tell the scheduler that all is done."""
        return max(1, self._places())

    def _places(self) -> int:
        places = sum(agent.places for agent in self._agents.ready)
        return min(places, self._most_workers or places)

    def call_policy(self, call: PolicyCall) -> Any:
        """Call a function with a policy where it will compute: in the first replica, or on the first node."""
        self._recruit()
        deadline = time.monotonic() + PATIENCE_S
        while not self._delegation.hosts:
            _check_patience(deadline)
            time.sleep(CHECK_EVERY_S)
            self._recruit()
        return self._delegation.call(call)

    def host_policy(self, policy: HostedPolicy) -> None:
        """Have the replicas or the agents host a policy from now on."""
        self._delegation.host(policy)

    def open(self, beyond_cpus: int) -> None:
        """Wait until the nodes have imported their simulators; each gets `beyond_cpus` workers more than CPUs.

        Once some can work, the others are not waited for long: those that open later are like nodes that join.
        """
        self._agents.open(beyond_cpus)
        self._recruit()
        deadline, grace_ends = time.monotonic() + PATIENCE_S, math.inf
        while not self._can_work() or (self._agents.are_opening and time.monotonic() < grace_ends):
            self._replies.wait([], CHECK_EVERY_S)
            self._replies.read()
            self._recruit()
            if self._can_work():
                grace_ends = min(grace_ends, time.monotonic() + GRACE_S)
                continue
            if self._agents.refused and not self._agents:
                name, reason = next(iter(self._agents.refused.items()))
                raise SetupError(f"no node of the cluster can be used; {name}: {reason}")
            _check_patience(deadline)

    def describe(self) -> dict[str, Any]:
        """What a manifest says of it."""
        nodes = [{"name": agent.node.name, "workers": agent.places} for agent in self._agents.ready]
        return {"nodes": nodes, "policy_replicas": len(self._replicas or ()), "ray": self._cluster.ray.__version__}

    @property
    def renderer(self) -> str | None:
        """What nodes render with."""
        names = [agent.ready.renderer for agent in self._agents if agent.ready]
        return "; ".join(dict.fromkeys(name for name in names if name)) or None

    def hire(self, task: TaskSpec, layout: MemoryLayout) -> ClusterWorker:
        """Start a worker on the node with most free places.

        If a node was lost since the scheduler counted them, there may be none: the worker then dies at its first order.
        """
        agent = max(self._agents, key=lambda agent: agent.free, default=self._nowhere)
        worker = ClusterWorker(task, next(self._numbers), agent if agent.free else self._nowhere, self._order)
        if agent.free:
            agent.hire(worker, self._delegation.with_room_for_looks(task, layout))
        return worker

    def dismiss(self, worker: ClusterWorker) -> None:
        """Let a worker go, if its node was not lost before."""
        self._delegation.forget(worker)
        worker.agent.dismiss(worker)

    def _order(self, worker: ClusterWorker, order: Order) -> None:
        """Note an order; a whole episode with a hosted policy is left to the node."""
        if not worker.is_hired:
            self._untold_deaths.append((worker, NO_NODE))  # its node was lost together with its last report
        elif not self._delegation.takes(worker, order):
            worker.agent.orders.append(ForwardOrder(worker.number, order))

    def wait(self, also: Sequence[int] = (), at_most_s: float = math.inf) -> Reports:
        """Send what was ordered, and wait for reports, while nodes come and go.

        While no node can work, deaths are held back, for their episodes could run nowhere; all else is told at once.
        """
        known, deadline, given_up = self.size, time.monotonic() + PATIENCE_S, time.monotonic() + at_most_s
        while True:
            self._send_orders()
            can_work = self._can_work()
            until = min(self._next_check, given_up) if can_work else self._next_check
            seconds = 0 if can_work and self._untold_deaths else until - time.monotonic()
            rung = self._replies.wait(also if can_work else (), seconds)
            reports = self._replies.read()
            if time.monotonic() > self._next_check:
                self._recruit()
            if self._can_work():
                deadline = time.monotonic() + PATIENCE_S
                reports, self._untold_deaths = self._untold_deaths + reports, []
                if reports or rung or self.size > known or time.monotonic() > given_up:
                    return reports
                continue
            self._untold_deaths += [pair for pair in reports if isinstance(pair[1], Died)]
            if told := [pair for pair in reports if not isinstance(pair[1], Died)]:
                return told
            if time.monotonic() > deadline:
                raise EnvironmentFault(
                    f"no node of the cluster could work for {PATIENCE_S:g} s; finished episodes are kept, and the same "
                    "command resumes the run"
                )

    def close(self) -> None:
        """End all workers, on all nodes, and the replicas."""
        self._agents.close()
        if self._replicas is not None:
            self._replicas.close()
        self._replies.close()

    def _recruit(self) -> None:
        """See to nodes that have joined, and to replicas."""
        self._next_check = time.monotonic() + CHECK_EVERY_S
        nodes = self._cluster.nodes()
        if self._replicas is not None:
            self._replicas.grow(nodes)
            self._replicas.call_absent(self._replies)
        self._agents.recruit(nodes)

    def _send_orders(self) -> None:
        self._delegation.send_waiting()
        for agent in self._agents:
            agent.send_orders()

    def _hear(self, agent: PlacedAgent, told: WorkerReport) -> Reports:
        worker = agent.workers.get(told.worker)
        if worker is None:
            return []  # dismissed while it spoke
        worker.looks = [dict(look) for look in told.looks]
        return self._delegation.hear(worker, told)

    def _can_work(self) -> bool:
        """Whether there is a place to play, and a replica that answers if there must be one."""
        return self._delegation.can_infer() and self._places() > 0


def _check_patience(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise SetupError(f"no node of the cluster became free within {PATIENCE_S:g} s: `ray status` shows why")
