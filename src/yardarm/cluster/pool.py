"""The workers of all nodes as one pool."""

from __future__ import annotations

import itertools
import logging
import math
import select
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from yardarm.cluster.agent import NodeAgent
from yardarm.cluster.connection import Cluster, Node
from yardarm.cluster.mailbox import Mailbox
from yardarm.cluster.messages import (
    AgentOrder,
    Charge,
    Dismiss,
    Entrust,
    Give,
    Heard,
    Hire,
    Opened,
    Question,
    value_of,
)
from yardarm.cluster.replicas import PlacedReplica, Replicas
from yardarm.cluster.setup import Setup
from yardarm.envs import MemoryLayout
from yardarm.envs.messages import Begin, Died, Finished, Order, PolicyFailed, Refused, Report, Run
from yardarm.errors import EnvironmentFault, PolicyFault, SetupError, one_line
from yardarm.policies import ObservationSpec
from yardarm.tasks import TaskSpec

__all__ = ["ClusterPool", "ClusterWorker"]

log = logging.getLogger(__name__)

# How often to look for nodes that have joined; asking takes half a millisecond.
CHECK_EVERY_S = 1.0
# How long a cluster may have nobody who could work, before the run is given up.
PATIENCE_S = 300.0
# How long a run waits for the others when it could begin with some.
GRACE_S = 60.0
# How long a node or a replica may take to make a policy and to try it; its files may have to be fetched.
QUESTION_LIMIT_S = 1800.0
# A node whose agent died so often, while the node itself lives, is left alone.
MOST_DEATHS = 3
FAREWELL_LIMIT_S = 10.0
NO_NODE = Died("its node was lost", blameless=True)


@dataclass(slots=True, eq=False)
class _Agent:
    """A node's agent, seen from the driver."""

    node: Node
    handle: Any
    cpus: int
    places: int = 0
    asked_to_open: float = math.inf
    opened: Opened | None = None
    workers: dict[int, ClusterWorker] = field(default_factory=dict)
    orders: list[AgentOrder] = field(default_factory=list)
    batches: int = 0
    """How many times orders were sent to it."""

    @property
    def free(self) -> int:
        """How many more workers it can have."""
        return self.places - len(self.workers) if self.opened else 0


@dataclass(frozen=True, slots=True)
class _Letter:
    """What came back from an actor: how to go on with it, and the future that has it."""

    hear: Callable[[Any], list[tuple[ClusterWorker, Report]]]
    future: Any


class ClusterWorker:
    """A worker on some node."""

    def __init__(self, task: TaskSpec, number: int, agent: _Agent, pool: ClusterPool) -> None:
        self.task = task
        self.number = number
        self.agent = agent
        self.looks: list[dict[str, np.ndarray]] = []
        self.on_frame: Callable[[np.ndarray], None] | None = None
        self.replica: PlacedReplica | None = None
        self.entrusted: Run | None = None
        self._pool = pool

    def order(self, order: Order) -> None:
        """Give an order; it leaves with all others at the pool's next `wait`."""
        self._pool.order(self, order)


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
        self._setup = setup
        self._replicas = replicas
        self._looked_at = looked_at
        self._most_workers = most_workers
        self._beyond_cpus: int | None = None
        self._charges: dict[str, Any] = {}
        self._made: set[str] = set()
        self._agents: dict[str, _Agent] = {}
        self._deaths: Counter[str] = Counter()
        self._losses: Counter[tuple[Any, ...]] = Counter()
        self._refused: dict[str, str] = {}
        self._held_back: list[tuple[ClusterWorker, Run]] = []
        self._nowhere = _Agent(Node("", "nowhere", cpus=0, free_cpus=0, gpus=0, free_gpus=0), None, cpus=0)
        self._deaths_to_tell: list[tuple[ClusterWorker, Report]] = []
        self._mail = Mailbox[_Letter]()
        self._numbers = itertools.count()
        self._next_check = 0.0

    @property
    def size(self) -> int:
        """Places on all nodes that are there now; never none, which would tell the scheduler that all is done."""
        return max(1, self._places())

    def _places(self) -> int:
        places = sum(agent.places for agent in self._agents.values() if agent.opened)
        return min(places, self._most_workers or places)

    def question(self, question: Question) -> Any:
        """Call a function with a policy where it will compute: in the first replica, or on the first node."""
        self._recruit()
        deadline = time.monotonic() + PATIENCE_S
        while not self._who_computes():
            self._check_patience(deadline)
            time.sleep(CHECK_EVERY_S)
            self._recruit()
        for handle in self._who_computes():
            if not self._ask(handle.differences, PATIENCE_S):  # else it will be refused, and named
                value = value_of(self._ask(handle.question, QUESTION_LIMIT_S, question))
                self._made.add(question.charge.key)
                return value
        raise SetupError("no node of the cluster has the driver's versions: `yardarm info` shows what is installed")

    def _who_computes(self) -> list[Any]:
        if self._replicas is not None:
            return self._replicas.handles
        return [agent.handle for agent in self._agents.values()]

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

    def take_charge(self, charge: Charge) -> None:
        """Have a policy in the nodes' or the replicas' care from now on."""
        self._charges[charge.key] = self._cluster.ray.put(charge)

    def open(self, beyond_cpus: int) -> None:
        """Wait until the nodes have imported their simulators; each has so many workers more than CPUs.

        Not for long, if some have: those that open later are like nodes that join.
        """
        self._beyond_cpus = beyond_cpus
        for agent in self._agents.values():
            self._open_agent(agent, beyond_cpus)
        self._recruit()
        deadline, grace_ends = time.monotonic() + PATIENCE_S, math.inf
        while not self._can_work() or (self._is_opening() and time.monotonic() < grace_ends):
            self._await_mail([], CHECK_EVERY_S)
            self._read_mail()
            self._recruit()
            if self._can_work():
                grace_ends = min(grace_ends, time.monotonic() + GRACE_S)
                continue
            if self._refused and not self._agents:
                name, reason = next(iter(self._refused.items()))
                raise SetupError(f"no node of the cluster can be used; {name}: {reason}")
            self._check_patience(deadline)

    def _is_opening(self) -> bool:
        return any(agent.opened is None for agent in self._agents.values())

    def describe(self) -> dict[str, Any]:
        """What a manifest says of it."""
        nodes = [{"name": agent.node.name, "workers": agent.places} for agent in self._agents.values() if agent.opened]
        return {"nodes": nodes, "policy_replicas": len(self._replicas or ()), "ray": self._cluster.ray.__version__}

    def _check_patience(self, deadline: float) -> None:
        if time.monotonic() > deadline:
            raise SetupError(f"no node of the cluster became free within {PATIENCE_S:g} s: `ray status` shows why")

    @property
    def renderer(self) -> str | None:
        """What nodes render with."""
        names = [agent.opened.renderer for agent in self._agents.values() if agent.opened]
        return "; ".join(dict.fromkeys(name for name in names if name)) or None

    def hire(self, task: TaskSpec, layout: MemoryLayout) -> ClusterWorker:
        """Start a worker on the node with most free places.

        If a node was lost since the scheduler counted them, there may be none: the worker then dies at its first order.
        """
        agent = max(self._agents.values(), key=lambda agent: agent.free, default=self._nowhere)
        worker = ClusterWorker(task, next(self._numbers), agent if agent.free else self._nowhere, self)
        if agent.free:
            agent.workers[worker.number] = worker
            agent.orders.append(Hire(worker.number, task, self._with_room_for_replicas(task, layout)))
        return worker

    def dismiss(self, worker: ClusterWorker) -> None:
        """Let a worker go, if its node has not gone already."""
        self._leave_replica(worker)
        self._held_back = [(other, run) for other, run in self._held_back if other is not worker]
        if worker.agent.workers.pop(worker.number, None) is not None:
            worker.agent.orders.append(Dismiss(worker.number))

    def order(self, worker: ClusterWorker, order: Order) -> None:
        """Note an order; a whole episode with a policy that is kept elsewhere is left to the node."""
        if worker.number not in worker.agent.workers:
            self._deaths_to_tell.append((worker, NO_NODE))  # its node was lost together with its last report
        elif isinstance(order, Run) and repr(order.policy) in self._looked_at:
            self._held_back.append((worker, order))
        else:
            worker.agent.orders.append(Give(worker.number, order))

    def wait(self, also: Sequence[int] = (), at_most_s: float = math.inf) -> list[tuple[ClusterWorker, Report]]:
        """Send what was ordered, and wait for reports; nodes that come and go are seen to meanwhile.

        While nobody can work, deaths are kept back, for their episodes could run nowhere; all else is told at once.
        """
        known, deadline, given_up = self.size, time.monotonic() + PATIENCE_S, time.monotonic() + at_most_s
        while True:
            self._entrust()
            self._send_orders()
            can_work = self._can_work()
            until = min(self._next_check, given_up) if can_work else self._next_check
            seconds = 0 if can_work and self._deaths_to_tell else until - time.monotonic()
            rung = self._await_mail(also if can_work else (), seconds)
            reports = self._read_mail()
            if time.monotonic() > self._next_check:
                self._recruit()
            if self._can_work():
                deadline = time.monotonic() + PATIENCE_S
                reports, self._deaths_to_tell = self._deaths_to_tell + reports, []
                if reports or rung or self.size > known or time.monotonic() > given_up:
                    return reports
                continue
            self._deaths_to_tell += [pair for pair in reports if isinstance(pair[1], Died)]
            if told := [pair for pair in reports if not isinstance(pair[1], Died)]:
                return told
            if time.monotonic() > deadline:
                raise EnvironmentFault(
                    f"no node of the cluster could work for {PATIENCE_S:g} s; finished episodes are kept, and the same "
                    "command goes on"
                )

    def close(self) -> None:
        """End all workers, on all nodes, and the replicas."""
        ray = self._cluster.ray
        farewells = [agent.handle.close.remote() for agent in self._agents.values() if agent.opened]
        if farewells:
            ray.wait(farewells, num_returns=len(farewells), timeout=FAREWELL_LIMIT_S)
        for agent in self._agents.values():
            ray.kill(agent.handle)
        self._agents.clear()
        if self._replicas is not None:
            self._replicas.close()
        self._mail.close()

    def _await_mail(self, also: Sequence[int], seconds: float) -> bool:
        """Wait for mail, and tell whether somebody else's descriptor is ready."""
        poll = select.poll()  # a process that talks to many nodes has more descriptors than `select` can count
        for descriptor in (self._mail.descriptor, *also):
            poll.register(descriptor, select.POLLIN)
        return any(descriptor in also for descriptor, _ in poll.poll(1000 * max(0.0, seconds)))

    def _read_mail(self) -> list[tuple[ClusterWorker, Report]]:
        return [report for letter in self._mail.take_all() for report in letter.hear(letter.future)]

    def _post(self, reference: Any, hear: Callable[[Any], list[tuple[ClusterWorker, Report]]]) -> None:
        """Have an actor's answer heard by this thread when it comes."""
        reference.future().add_done_callback(lambda future: self._mail.put([_Letter(hear, future)]))

    def _recruit(self) -> None:
        """Send an agent to each node that has none, and has CPUs to spare; and look after replicas."""
        self._next_check = time.monotonic() + CHECK_EVERY_S
        nodes = self._cluster.nodes()
        if self._replicas is not None:
            self._replicas.grow(nodes)
            self._replicas.call_absent(self._hear_replica)
        for agent in list(self._agents.values()):
            if agent.opened is None and time.monotonic() > agent.asked_to_open + PATIENCE_S:
                self._refuse(agent, f"it did not open its simulators within {PATIENCE_S:g} s")
        for node in nodes:
            room = self._most_workers - sum(agent.cpus for agent in self._agents.values())
            cpus = min(node.free_cpus, room) if self._most_workers else node.free_cpus
            if cpus > 0 and node.id not in self._agents and self._deaths[node.id] < MOST_DEATHS:
                self._send_agent(node, cpus)

    def _send_agent(self, node: Node, cpus: int) -> None:
        strategy = self._cluster.pinned_to(node, soft=False)
        actor = self._cluster.ray.remote(NodeAgent).options(num_cpus=cpus, scheduling_strategy=strategy)
        agent = self._agents[node.id] = _Agent(node, actor.remote(self._setup), cpus)
        if self._beyond_cpus is not None:
            self._open_agent(agent, self._beyond_cpus)

    def _open_agent(self, agent: _Agent, beyond_cpus: int) -> None:
        agent.places, agent.asked_to_open = agent.cpus + beyond_cpus, time.monotonic()
        self._post(agent.handle.open.remote(agent.places), lambda future: self._hear_open(agent, future))

    def _hear_open(self, agent: _Agent, future: Any) -> list[tuple[ClusterWorker, Report]]:
        try:
            answer = future.result()
        except Exception as error:  # Ray's own: the node died, or its interpreter does not fit
            return self._lose(agent, error)
        if self._agents.get(agent.node.id) is not agent:
            return []  # it was given up meanwhile
        if isinstance(answer, Refused):
            self._refuse(agent, answer.reason)
            return []
        agent.opened = answer
        self._listen(agent)
        return []

    def _refuse(self, agent: _Agent, reason: str) -> None:
        """Leave a node alone, and say why."""
        log.warning("node %s is not used: %s", agent.node.name, reason)
        self._refused[agent.node.name] = reason
        self._deaths[agent.node.id] = MOST_DEATHS
        self._discard(agent)

    def _listen(self, agent: _Agent) -> None:
        self._post(agent.handle.reports.remote(), lambda future: self._hear_agent(agent, future))

    def _hear_agent(self, agent: _Agent, future: Any) -> list[tuple[ClusterWorker, Report]]:
        try:
            heard: list[Heard] = future.result()
        except Exception as error:  # Ray's own: the node or the agent died
            return self._lose(agent, error)
        self._listen(agent)
        finished_first = sorted(heard, key=lambda one: bool(one.unmade))  # which may be the end of the agent
        return [report for one in finished_first for report in self._hear(agent, one)]

    def _hear(self, agent: _Agent, heard: Heard) -> list[tuple[ClusterWorker, Report]]:
        worker = agent.workers.get(heard.worker)
        if worker is None:
            return []  # dismissed while it spoke
        if heard.unmade:
            return self._hear_unmade(worker, heard.unmade)
        if worker.entrusted is not None and isinstance(heard.report, Finished):
            self._made.add(repr(worker.entrusted.policy))
        report = self._lose_replica(worker, heard.report) if heard.replica_lost else heard.report
        self._leave_replica(worker)
        worker.looks = [dict(look) for look in heard.looks]
        return [(worker, report)]

    def _hear_unmade(self, worker: ClusterWorker, reason: str) -> list[tuple[ClusterWorker, Report]]:
        """A policy that was made elsewhere cannot be made here: the fault is the node's, unless it is the last."""
        agent, replica = worker.agent, worker.replica
        self._leave_replica(worker)
        assert worker.entrusted is not None
        others = [other for other in self._agents.values() if other.opened and other is not agent]
        can_go = others if replica is None else self._replicas and self._replicas.present_beside(replica)
        if repr(worker.entrusted.policy) not in self._made or not can_go:
            return [(worker, PolicyFailed(reason))]
        lost = Died(reason, blameless=True)
        if replica is None:
            workers = list(agent.workers.values())
            self._refuse(agent, reason)
            return [(other, lost) for other in workers]
        if not replica.is_refused:
            log.warning("a replica is not used: %s", reason)
            replica.refuse()
        return [(worker, lost)]

    def _lose_replica(self, worker: ClusterWorker, report: Report) -> Report:
        """A replica has gone, and is started anew; an episode that was there twice may be what ends it."""
        if worker.replica is not None and worker.replica.node is not None:
            worker.replica.node = None
            log.warning("a replica of the policy was lost; its %d episodes run again", worker.replica.episodes)
        if worker.entrusted is None or not isinstance(report, Died):
            return report
        episode = (repr(worker.entrusted.policy), *worker.entrusted.episode.key())
        self._losses[episode] += 1
        return Died(report.reason, blameless=self._losses[episode] == 1)

    def _hear_replica(self, replica: PlacedReplica, future: Any) -> None:
        def note(future: Any) -> list[tuple[ClusterWorker, Report]]:
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

        self._mail.put([_Letter(note, future)])

    def _lose(self, agent: _Agent, error: Exception) -> list[tuple[ClusterWorker, Report]]:
        """A node has gone: what its workers played is played elsewhere, and nobody is to blame."""
        if self._agents.get(agent.node.id) is not agent:
            return []  # that is known
        self._deaths[agent.node.id] += 1
        workers = list(agent.workers.values())
        self._discard(agent)
        if agent.opened:
            log.warning("node %s was lost; its %d episodes run elsewhere", agent.node.name, len(workers))
        return [(worker, Died(f"its node was lost: {one_line(error)[:300]}", blameless=True)) for worker in workers]

    def _discard(self, agent: _Agent) -> None:
        del self._agents[agent.node.id]
        agent.workers.clear()
        self._cluster.ray.kill(agent.handle)

    def _entrust(self) -> None:
        """Leave the episodes that wait for it to their nodes, each with a replica if there are any."""
        waiting, self._held_back = self._held_back, []
        for worker, run in waiting:
            handle = None
            if self._replicas is not None:
                replica = self._replicas.choose(worker.agent.node.id)
                if replica is None:
                    self._held_back.append((worker, run))
                    continue
                replica.episodes += 1
                worker.replica, handle = replica, replica.handle
            worker.entrusted, key = run, repr(run.policy)
            begin = Begin(run.episode, self._looked_at[key].inputs, run.film)
            worker.agent.orders.append(Entrust(worker.number, begin, key, self._charges[key], handle))

    def _send_orders(self) -> None:
        for agent in self._agents.values():
            if agent.orders:
                agent.handle.obey.remote(agent.batches, agent.orders)
                agent.batches, agent.orders = agent.batches + 1, []

    def _can_work(self) -> bool:
        """Whether there is a place to play, and a replica that answers if there must be one."""
        can_infer = self._replicas is None or any(self._replicas.choose(node) for node in self._agents)
        return can_infer and self._places() > 0

    def _leave_replica(self, worker: ClusterWorker) -> None:
        if worker.replica is not None:
            worker.replica.episodes -= 1
            worker.replica = None

    def _with_room_for_replicas(self, task: TaskSpec, layout: MemoryLayout) -> MemoryLayout:
        """The scheduler knows what policies in its own process look at; the agent's workers show more."""
        inputs = {name: task.env.features[name] for wants in self._looked_at.values() for name in wants.inputs}
        looks = max([layout.looks, *(wants.steps for wants in self._looked_at.values())])
        return MemoryLayout({**layout.inputs, **inputs}, looks, layout.frame)
