"""Episodes that are left to their nodes, because a replica or the node's agent hosts their policy."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from typing import Any

from yardarm.cluster.agents import Agents
from yardarm.cluster.connection import Cluster
from yardarm.cluster.messages import DelegateEpisode, HostedPolicy, PolicyCall, WorkerReport, value_of
from yardarm.cluster.placed import ClusterWorker, Reports
from yardarm.cluster.replicas import Replicas
from yardarm.envs import MemoryLayout
from yardarm.envs.messages import Begin, Died, Finished, Order, PolicyFailed, Report, Run
from yardarm.errors import PolicyFault, SetupError, one_line
from yardarm.policies import ObservationSpec
from yardarm.tasks import TaskSpec

__all__ = ["Delegation"]

log = logging.getLogger(__name__)

# How long a host may take to start, and to say which versions it has.
ANSWER_LIMIT_S = 300.0
# How long a host may take to make a policy and to try it; its files may have to be fetched.
TRIAL_LIMIT_S = 1800.0


class Delegation:
    """The policies that replicas host, or agents if there are no replicas, and the episodes that they play.

    `looked_at` has what each hosted policy reads, by its key. A worker's episode is delegated with the run's next
    orders, or as soon as a replica answers.
    """

    def __init__(
        self, cluster: Cluster, agents: Agents, replicas: Replicas | None, looked_at: Mapping[str, ObservationSpec]
    ) -> None:
        self._cluster = cluster
        self._agents = agents
        self._replicas = replicas
        self._looked_at = looked_at
        self._hosted: dict[str, Any] = {}
        self._waiting: list[tuple[ClusterWorker, Run]] = []
        self._losses: Counter[tuple[Any, ...]] = Counter()
        self.made: set[str] = set()
        """The keys of policies that some host has made."""

    def host(self, policy: HostedPolicy) -> None:
        """Let hosts fetch this policy from now on."""
        self._hosted[policy.key] = self._cluster.ray.put(policy)

    @property
    def hosts(self) -> list[Any]:
        """The actors in which policies compute."""
        return self._replicas.handles if self._replicas is not None else [agent.handle for agent in self._agents]

    def can_infer(self) -> bool:
        """Whether a replica answers, if there must be one."""
        return self._replicas is None or any(self._replicas.choose(agent.node.id) for agent in self._agents)

    def call(self, call: PolicyCall) -> Any:
        """Call a function with a policy where it will compute: in the first host that has the driver's versions."""
        for host in self.hosts:
            if not self._ask(host.differences, ANSWER_LIMIT_S):  # else it will be refused, and named
                value = value_of(self._ask(host.call_policy, TRIAL_LIMIT_S, call))
                self.made.add(call.policy.key)
                return value
        raise SetupError("no node of the cluster has the driver's versions: `yardarm info` shows what is installed")

    def _ask(self, method: Any, limit_s: float, *arguments: Any) -> Any:
        ray = self._cluster.ray
        try:
            return ray.get(method.remote(*arguments), timeout=limit_s)
        except ray.exceptions.GetTimeoutError as error:
            raise SetupError(
                f"the process that is to try the policy did not answer within {limit_s:g} s: `ray status` shows "
                "whether it waits for a CPU or GPU that others use"
            ) from error
        except ray.exceptions.RayError as error:
            raise PolicyFault(f"the process that tried the policy died: {one_line(error)[:300]}") from error

    def takes(self, worker: ClusterWorker, order: Order) -> bool:
        """Take over an order to play a whole episode with a hosted policy; returns whether it is one."""
        if not isinstance(order, Run) or repr(order.policy) not in self._looked_at:
            return False
        self._waiting.append((worker, order))
        return True

    def send_waiting(self) -> None:
        """Leave the episodes that wait for it to their nodes, each with a replica if there are any."""
        waiting, self._waiting = self._waiting, []
        for worker, run in waiting:
            handle = None
            if self._replicas is not None:
                replica = self._replicas.choose(worker.agent.node.id)
                if replica is None:
                    self._waiting.append((worker, run))
                    continue
                replica.episodes += 1
                worker.replica, handle = replica, replica.handle
            worker.delegated, key = run, repr(run.policy)
            begin = Begin(run.episode, self._looked_at[key].inputs, run.film)
            worker.agent.orders.append(DelegateEpisode(worker.number, begin, key, self._hosted[key], handle))

    def forget(self, worker: ClusterWorker) -> None:
        """A worker is dismissed, whatever it was playing."""
        worker.leave_replica()
        self._waiting = [(other, run) for other, run in self._waiting if other is not worker]

    def hear(self, worker: ClusterWorker, told: WorkerReport) -> Reports:
        """What the scheduler is to hear of a worker's report."""
        if told.cannot_make:
            return self._hear_cannot_make(worker, told.cannot_make)
        if worker.delegated is not None and isinstance(told.report, Finished):
            self.made.add(repr(worker.delegated.policy))
        report = self._lose_replica(worker, told.report) if told.replica_lost else told.report
        worker.leave_replica()
        return [(worker, report)]

    def _hear_cannot_make(self, worker: ClusterWorker, reason: str) -> Reports:
        """A host cannot make a policy that another has made: its node is at fault, unless there is no other left."""
        agent, replica = worker.agent, worker.replica
        worker.leave_replica()
        assert worker.delegated is not None
        others = [other for other in self._agents.ready if other is not agent]
        can_go_on = others if replica is None else self._replicas and self._replicas.present_beside(replica)
        if repr(worker.delegated.policy) not in self.made or not can_go_on:
            return [(worker, PolicyFailed(reason))]
        lost = Died(reason, blameless=True)
        if replica is None:
            workers = list(agent.workers.values())
            self._agents.refuse(agent, reason)
            return [(other, lost) for other in workers]
        if not replica.is_refused:
            log.warning("a replica is not used: %s", reason)
            replica.refuse()
        return [(worker, lost)]

    def _lose_replica(self, worker: ClusterWorker, report: Report) -> Report:
        """A replica was lost, and Ray restarts it; an episode that was there twice may be what ends it."""
        if worker.replica is not None and worker.replica.node is not None:
            worker.replica.node = None
            log.warning("a replica of the policy was lost; its %d episodes run again", worker.replica.episodes)
        if worker.delegated is None or not isinstance(report, Died):
            return report
        episode = (repr(worker.delegated.policy), *worker.delegated.episode.key())
        self._losses[episode] += 1
        return Died(report.reason, blameless=self._losses[episode] == 1)

    def with_room_for_looks(self, task: TaskSpec, layout: MemoryLayout) -> MemoryLayout:
        """The scheduler knows what policies in its own process look at; a host's policies may look at more."""
        inputs = {name: task.env.features[name] for wants in self._looked_at.values() for name in wants.inputs}
        looks = max([layout.looks, *(wants.steps for wants in self._looked_at.values())])
        return MemoryLayout({**layout.inputs, **inputs}, looks, layout.frame)
