"""A pool whose cluster has no node, so that nothing but its own bookkeeping is at work."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from toy_world import ToyConfig

from yardarm.cluster import agents, pool
from yardarm.cluster.connection import Cluster, Node
from yardarm.cluster.messages import AgentReady, WorkerReport
from yardarm.cluster.placed import ClusterWorker, PlacedAgent
from yardarm.cluster.pool import ClusterPool
from yardarm.cluster.setup import Setup
from yardarm.envs import MemoryLayout
from yardarm.envs.messages import Died, Finished, PolicyFailed, Rollout, Run, Timing
from yardarm.errors import EnvironmentFault
from yardarm.policies import PolicySpec
from yardarm.tasks import EpisodeSpec

(TASK,) = ToyConfig(task="left").tasks()
LAYOUT = MemoryLayout({})


def answered(value: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


class EmptyCluster(Cluster):
    """Nobody is there."""

    def nodes(self) -> list[Any]:
        return []


@pytest.fixture
def lonely() -> Iterator[ClusterPool]:
    own = ClusterPool(EmptyCluster(MagicMock(), "nowhere"), Setup((TASK,), timeout_s=30.0, renders=False), None, {})
    with contextlib.closing(own):
        yield own


def test_what_is_finished_is_told_though_no_node_is_left(lonely: ClusterPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "PATIENCE_S", 0.1)
    lucky, unlucky = lonely.hire(TASK, LAYOUT), lonely.hire(TASK, LAYOUT)
    nothing = np.empty(0)
    finished = Finished(Rollout(True, True, nothing, nothing, nothing, {}, 0.0, Timing()))
    reply = MagicMock(**{"future.return_value": answered(None)})
    lonely._replies.expect(reply, lambda _: [(unlucky, Died("its node was lost")), (lucky, finished)])
    assert lonely.wait() == [(lucky, finished)]
    with pytest.raises(EnvironmentFault, match="finished episodes are kept"):
        lonely.wait()


def test_a_pool_without_nodes_does_not_look_as_if_all_were_done(lonely: ClusterPool) -> None:
    assert lonely.size == 1


def agent_on(name: str, opened: Future[AgentReady], own: ClusterPool) -> PlacedAgent:
    handle = MagicMock()
    handle.open.remote.return_value.future.return_value = opened
    handle.reports.remote.return_value.future.return_value = Future()
    agent = PlacedAgent(Node(name, name, cpus=1, free_cpus=0, gpus=0, free_gpus=0), handle, cpus=1)
    own._agents.add(agent)
    return agent


def names(present: Iterable[PlacedAgent]) -> list[str]:
    return [agent.node.name for agent in present]


def test_a_node_that_hangs_keeps_no_other_waiting(
    lonely: ClusterPool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pool, "GRACE_S", 0.0)
    agent_on("good", answered(AgentReady(None)), lonely)
    agent_on("hangs", Future(), lonely)
    lonely.open(0)
    assert names(lonely._agents.ready) == ["good"]
    monkeypatch.setattr(agents, "OPEN_LIMIT_S", 0.0)
    with caplog.at_level(logging.WARNING):
        lonely._recruit()
    assert "node hangs is not used: it did not open its simulators" in caplog.text
    assert names(lonely._agents) == ["good"]


MOVER = PolicySpec("toy_world:MoverPolicy")
CANNOT_MAKE = WorkerReport(0, Died("no such path", blameless=True), cannot_make="no such path")


def playing_on(name: str, own: ClusterPool) -> ClusterWorker:
    agent = agent_on(name, Future(), own)
    worker = ClusterWorker(TASK, 0, agent, own._order)
    worker.delegated = Run(EpisodeSpec(TASK, 0, 1000), MOVER)
    agent.ready, agent.workers[0] = AgentReady(None), worker
    return worker


def test_a_node_that_cannot_make_the_policy_is_left_alone_unless_it_is_the_last(lonely: ClusterPool) -> None:
    first, last = playing_on("first", lonely), playing_on("last", lonely)
    lonely._delegation.made.add(repr(MOVER))
    assert lonely._hear(first.agent, CANNOT_MAKE) == [(first, Died("no such path", blameless=True))]
    assert names(lonely._agents) == ["last"]
    assert lonely._hear(last.agent, CANNOT_MAKE) == [(last, PolicyFailed("no such path"))]


def test_a_policy_that_was_made_nowhere_is_at_fault_itself(lonely: ClusterPool) -> None:
    first = playing_on("first", lonely)
    playing_on("last", lonely)
    assert lonely._hear(first.agent, CANNOT_MAKE) == [(first, PolicyFailed("no such path"))]
    assert names(lonely._agents) == ["first", "last"]
