"""A pool whose cluster has no node, so that nothing but its own bookkeeping is at work."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from toy_world import ToyConfig

from yardarm.cluster import Cluster, ClusterPool, Setup, pool
from yardarm.cluster.connection import Node
from yardarm.cluster.messages import Heard, Opened
from yardarm.cluster.pool import ClusterWorker, _Agent, _Letter
from yardarm.envs import MemoryLayout
from yardarm.envs.messages import Died, Finished, PolicyFailed, Rollout, Run, Timing
from yardarm.errors import EnvironmentFault
from yardarm.policies import PolicySpec
from yardarm.tasks import EpisodeSpec

(TASK,) = ToyConfig(task="left").tasks()
LAYOUT = MemoryLayout({})


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
    lonely._mail.put([_Letter(lambda _: [(unlucky, Died("its node was lost")), (lucky, finished)], None)])
    assert lonely.wait() == [(lucky, finished)]
    with pytest.raises(EnvironmentFault, match="finished episodes are kept"):
        lonely.wait()


def test_a_pool_without_nodes_does_not_look_as_if_all_were_done(lonely: ClusterPool) -> None:
    assert lonely.size == 1


def agent_on(name: str, opened: Future[Opened]) -> _Agent:
    handle = MagicMock()
    handle.open.remote.return_value.future.return_value = opened
    handle.reports.remote.return_value.future.return_value = Future()
    return _Agent(Node(name, name, cpus=1, free_cpus=0, gpus=0, free_gpus=0), handle, cpus=1)


def test_a_node_that_hangs_keeps_no_other_waiting(
    lonely: ClusterPool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(pool, "GRACE_S", 0.0)
    good: Future[Opened] = Future()
    good.set_result(Opened(None))
    lonely._agents = {"good": agent_on("good", good), "hangs": agent_on("hangs", Future())}
    lonely.open(0)
    assert [agent.node.name for agent in lonely._agents.values() if agent.opened] == ["good"]
    monkeypatch.setattr(pool, "PATIENCE_S", 0.0)
    with caplog.at_level(logging.WARNING):
        lonely._recruit()
    assert "node hangs is not used: it did not open its simulators" in caplog.text
    assert list(lonely._agents) == ["good"]


def playing_on(agent: _Agent, own: ClusterPool) -> ClusterWorker:
    worker = ClusterWorker(TASK, 0, agent, own)
    worker.entrusted = Run(EpisodeSpec(TASK, 0, 1000), PolicySpec("toy_world:MoverPolicy"))
    agent.opened, agent.workers[0] = Opened(None), worker
    return worker


def test_a_node_that_cannot_make_the_policy_is_left_alone_unless_it_is_the_last(lonely: ClusterPool) -> None:
    lonely._agents = {name: agent_on(name, Future()) for name in ("first", "last")}
    first, last = [playing_on(agent, lonely) for agent in lonely._agents.values()]
    lonely._made.add(repr(PolicySpec("toy_world:MoverPolicy")))
    unmade = Heard(0, Died("no such path", blameless=True), unmade="no such path")
    assert lonely._hear(first.agent, unmade) == [(first, Died("no such path", blameless=True))]
    assert list(lonely._agents) == ["last"]
    assert lonely._hear(last.agent, unmade) == [(last, PolicyFailed("no such path"))]


def test_a_policy_that_was_made_nowhere_is_at_fault_itself(lonely: ClusterPool) -> None:
    lonely._agents = {name: agent_on(name, Future()) for name in ("first", "last")}
    first, _ = [playing_on(agent, lonely) for agent in lonely._agents.values()]
    unmade = Heard(0, Died("no such path", blameless=True), unmade="no such path")
    assert lonely._hear(first.agent, unmade) == [(first, PolicyFailed("no such path"))]
    assert list(lonely._agents) == ["first", "last"]
