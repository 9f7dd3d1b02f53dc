"""A pool whose cluster has no node, so that nothing but its own bookkeeping is at work."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from toy_world import ToyConfig

from yardarm.cluster import Cluster, ClusterPool, Setup, pool
from yardarm.cluster.pool import _Letter
from yardarm.envs import MemoryLayout
from yardarm.envs.messages import Died, Finished, Rollout, Timing
from yardarm.errors import EnvironmentFault

(TASK,) = ToyConfig(task="left").tasks()
LAYOUT = MemoryLayout({})


class EmptyCluster(Cluster):
    """Nobody is there."""

    def nodes(self) -> list[Any]:
        return []


@pytest.fixture
def lonely() -> Iterator[ClusterPool]:
    own = ClusterPool(EmptyCluster(None, "nowhere"), Setup((TASK,), timeout_s=30.0, renders=False), None, {})
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
