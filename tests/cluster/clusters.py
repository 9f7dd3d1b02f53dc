"""Small Ray clusters on this machine, and evaluations on them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toy_world import ToyConfig

import yardarm
from yardarm.cluster import RayOptions
from yardarm.cluster.connection import load_ray
from yardarm.evaluation import EvaluationListener
from yardarm.results import EpisodeRecord, RunResult

SLOW_STEPS = ToyConfig(task="far", step_s=0.03)
# Its own default is a share of the machine's memory, for each node.
STORE = 80 * 2**20
QUIETLY = {"object_store_memory": STORE, "include_dashboard": False}


@contextlib.contextmanager
def ray_cluster(*cpus: int) -> Iterator[Any]:
    """Ray's own test cluster, with a node for each number of CPUs; the first is the head."""
    os.environ["RAY_AUTH_MODE"] = "disabled"
    load_ray()
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    try:
        for count in cpus:
            cluster.add_node(num_cpus=count, **QUIETLY)
        yield cluster
    finally:
        cluster.shutdown()


def evaluate_on(cluster: Any, policy: Any, env: ToyConfig, folder: Path, **options: Any) -> RunResult:
    """Evaluate on a cluster, in this process."""
    replicas = options.pop("policy_replicas", 0)
    ray = RayOptions(address=cluster.address, policy_replicas=replicas)
    return yardarm.evaluate(policy, env, runner="ray", ray=ray, output_dir=folder, **options)


class AfterSome(EvaluationListener):
    """Does something once, when so many episodes are on disk."""

    def __init__(self, episodes: int, act: Any) -> None:
        self._left = episodes
        self._act = act

    def finished(self, record: EpisodeRecord) -> None:
        self._left -= 1
        if self._left == 0:
            self._act()
