"""Plays on the nodes of a Ray cluster, behind the same `Runner`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from yardarm.cluster.connection import Cluster
from yardarm.cluster.messages import HostedPolicy, PolicyCall
from yardarm.cluster.options import RayOptions
from yardarm.cluster.pool import ClusterPool
from yardarm.cluster.replicas import Replicas
from yardarm.cluster.setup import Setup
from yardarm.engine import EngineOptions, FixedBatching, Setting, fix_batching, looks_at_pictures
from yardarm.envs import Pool
from yardarm.policies import Batching, LoadedPolicy
from yardarm.tasks import TaskSpec

__all__ = ["RayRunner"]

RAY = "ray"


class RayRunner:
    """Workers on all nodes; policies beside them or in replicas, if other processes can make them."""

    def __init__(
        self,
        options: EngineOptions,
        ray: RayOptions,
        policies: Sequence[LoadedPolicy],
        tasks: Sequence[TaskSpec],
        cluster: Cluster,
        interpreters: Mapping[str, Mapping[str, str | None]],
    ) -> None:
        self._options = options
        self._policies = policies
        self._tasks = tuple(tasks)
        self._cluster = cluster
        renders = looks_at_pictures(tasks, policies)
        self._setup = Setup(
            self._tasks,
            options.timeout_s,
            renders,
            policies_at_once=options.policies_at_once,
            others=interpreters,
        )
        self._hosted = [policy for policy in policies if _can_be_hosted(policy)]
        looked_at = {repr(policy.spec): policy.policy.wants for policy in self._hosted}
        limits = [policy.traits.most_episodes for policy in policies]
        most_workers = min(filter(None, [options.batch_size, *limits]), default=0)
        replicas = self._open_replicas(ray.policy_replicas) if self._hosted else None
        self._pool = ClusterPool(cluster, self._setup, replicas, looked_at, most_workers)
        self._threads = 1
        self._known: dict[str, FixedBatching | None] = {}

    def _open_replicas(self, wanted: int) -> Replicas | None:
        """On GPUs, or as many as were asked for; otherwise each node's agent hosts the policies."""
        nodes = self._cluster.nodes()
        if not wanted and not any(node.gpus for node in nodes):
            return None
        replicas = Replicas(self._cluster, self._setup, wanted)
        replicas.grow(nodes)
        return replicas

    def fix_batching(self, policy: LoadedPolicy, exact: bool, stored: FixedBatching | None) -> FixedBatching | None:
        """Chosen by the first host of the policy, for all of them."""
        if not self._is_hosted(policy):
            return fix_batching(policy, exact=exact, stored=stored)
        hosted = HostedPolicy(policy.spec, policy.id, self._tasks)
        name = policy.traits.batching_key or policy.id
        if stored is not None or name not in self._known:
            call = PolicyCall(hosted, fix_batching, {"exact": exact, "stored": stored})
            self._known[name] = self._pool.call_policy(call)
        chosen = self._known[name]
        if chosen is not None:
            self._threads = max(self._threads, chosen.threads or 1)
            hosted = replace(hosted, batching=Batching(chosen.rows, chosen.threads))
        self._pool.host_policy(hosted)
        return chosen

    def infers_here(self, policy: LoadedPolicy) -> bool:
        """A policy that only this process has, or that is behind a socket: looks come to the driver for it."""
        return policy.policy.place == "host" and not self._is_hosted(policy)

    @contextlib.contextmanager
    def open_pool(self, log: Path, episodes: int) -> Iterator[tuple[Pool, Setting]]:
        """As many workers as the nodes have CPUs; as on one machine, one more on each while looks are with a policy."""
        hosted = any(policy.policy.place == "host" for policy in self._policies)
        pool = self._pool
        pool.open(1 if hosted and self._threads == 1 and not self._options.batch_size else 0)
        runner = {"type": RAY, "address": self._cluster.address, **pool.describe()}
        yield pool, Setting(pool.renderer, runner)

    def close(self) -> None:
        """End all that was started on the nodes, whether or not the pool was opened."""
        self._pool.close()

    def _is_hosted(self, policy: LoadedPolicy) -> bool:
        return any(policy is other for other in self._hosted)


def _can_be_hosted(policy: LoadedPolicy) -> bool:
    """Whether another process can make it, and should: one with lanes is behind a socket, others play few episodes."""
    return policy.policy.place == "host" and policy.can_be_made_again and not policy.traits.most_episodes
