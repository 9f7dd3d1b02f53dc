"""A cluster of its own, because it does not survive."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.clusters import SLOW_STEPS, AfterSome, evaluate_on, ray_cluster
from yardarm.cluster import pool
from yardarm.errors import EnvironmentFault
from yardarm.results import EpisodeRecord, read_journal

EPISODES = 9
BEFORE_THE_LOSS = 3


class Announced(AfterSome):
    """Keeps what it was told of finished episodes."""

    def __init__(self, episodes: int, act: Callable[[], None]) -> None:
        super().__init__(episodes, act)
        self.records: list[EpisodeRecord] = []

    def finished(self, record: EpisodeRecord) -> None:
        self.records.append(record)
        super().finished(record)


@pytest.mark.slow
def test_a_cluster_that_loses_its_last_node_keeps_what_was_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ray_cluster(0, 1) as cluster:
        (only,) = cluster.worker_nodes

        def kill() -> None:
            cluster.remove_node(only, allow_graceful=False)
            monkeypatch.setattr(pool, "PATIENCE_S", 3.0)

        announced = Announced(BEFORE_THE_LOSS, kill)
        with pytest.raises(EnvironmentFault, match="finished episodes are kept"):
            evaluate_on(
                cluster,
                "toy_world:SlowlyPolicy",
                SLOW_STEPS,
                tmp_path / "ray",
                listener=announced,
                n_episodes=EPISODES,
            )
    # Episodes that finish together are written together, so a few more than those before the loss may be there.
    assert BEFORE_THE_LOSS <= len(announced.records) < EPISODES
    kept = list(read_journal(tmp_path / "ray" / "episodes.jsonl"))
    assert [record.course() for record in kept] == [record.course() for record in announced.records]
