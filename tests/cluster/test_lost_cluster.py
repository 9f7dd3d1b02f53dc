"""A cluster of its own, because it does not survive."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.clusters import SLOW_STEPS, AfterSome, evaluate_on, ray_cluster
from tests.helpers import journal_lines
from yardarm.cluster import pool
from yardarm.errors import EnvironmentFault


@pytest.mark.slow
def test_a_cluster_that_loses_its_last_node_keeps_what_was_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ray_cluster(0, 1) as cluster:
        (only,) = cluster.worker_nodes

        def kill() -> None:
            cluster.remove_node(only, allow_graceful=False)
            monkeypatch.setattr(pool, "PATIENCE_S", 3.0)

        with pytest.raises(EnvironmentFault, match="finished episodes are kept"):
            evaluate_on(
                cluster,
                "toy_world:SlowlyPolicy",
                SLOW_STEPS,
                tmp_path / "ray",
                listener=AfterSome(3, kill),
                n_episodes=9,
            )
    assert journal_lines(tmp_path / "ray") == 3
