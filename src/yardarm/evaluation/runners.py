"""Where a run's workers and policies live: on this machine, or on the nodes of a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from yardarm.cluster import Charge, Cluster, ClusterPool, Question, Replicas, Setup, check_address, open_cluster
from yardarm.envs import Pool
from yardarm.evaluation.config import RAY, EvalConfig, EvalOptions
from yardarm.evaluation.exactness import fix_batching
from yardarm.evaluation.workers import how_many_workers, looks_at_pictures, open_pool
from yardarm.policies import Batching, LoadedPolicy, Policy, PolicySpec, Releasable, open_policy
from yardarm.results import RunFolder
from yardarm.tasks import TaskSpec

__all__ = ["Runner", "Setting", "check_runner", "open_policy_for", "open_runner"]

Setting = dict[str, Any]
"""What a manifest says of it."""


class Runner(Protocol):
    """Brings a policy to where it computes, and opens the workers."""

    def fix_batching(self, policy: LoadedPolicy, exact: bool, stored: Mapping[str, Any] | None) -> Setting | None:
        """Set how the policy's batches are put together; returns what the manifest shall say of it."""

    def infers_here(self, policy: LoadedPolicy) -> bool:
        """Whether the scheduler must ask the policy, in this process."""

    def open_pool(self, folder: RunFolder, episodes: int) -> AbstractContextManager[tuple[Pool, Setting]]:
        """Workers, and what there is to say of them."""


def check_runner(config: EvalConfig) -> None:
    """Refuse a cluster that is not there, before anything slow starts."""
    if config.runner == RAY:
        check_address(config.ray)


@contextlib.contextmanager
def open_policy_for(
    config: EvalConfig,
    source: PolicySpec | Policy,
    tasks: Sequence[TaskSpec],
    rename_map: Mapping[str, str] | None = None,
) -> Iterator[LoadedPolicy]:
    """Load a policy to check it and to name it: on a cluster the driver's CPU will do, whatever the nodes have."""
    if config.runner != RAY or not isinstance(source, PolicySpec) or source.type != "pretrained":
        with open_policy(source, tasks, rename_map) as loaded:
            yield loaded
        return
    on_cpu = replace(source, options={**source.options, "device": "cpu"})
    with open_policy(on_cpu, tasks, rename_map) as loaded:
        if isinstance(loaded.policy, Releasable):
            loaded.policy.release()  # the nodes have their own
        options = {**loaded.spec.options, "device": source.options.get("device", "auto")}
        yield replace(loaded, spec=replace(loaded.spec, options=options))


@contextlib.contextmanager
def open_runner(
    config: EvalConfig, policies: Sequence[LoadedPolicy], tasks: Sequence[TaskSpec], software: Mapping[str, Any]
) -> Iterator[Runner]:
    """The runner that the configuration asks for; nodes of a cluster must have the same `software`."""
    if config.runner != RAY:
        yield LocalRunner(config.eval, policies, tasks)
        return
    with (
        open_cluster(config.ray) as cluster,
        contextlib.closing(RayRunner(config, policies, tasks, cluster, software)) as runner,
    ):
        yield runner


@dataclass(frozen=True, slots=True)
class LocalRunner:
    """All of it here."""

    options: EvalOptions
    policies: Sequence[LoadedPolicy]
    tasks: Sequence[TaskSpec]
    known: dict[str, Batching] = field(default_factory=dict)

    def fix_batching(self, policy: LoadedPolicy, exact: bool, stored: Mapping[str, Any] | None) -> Setting | None:
        """In this process."""
        return fix_batching(policy.policy, exact=exact, stored=stored, known=self.known)

    def infers_here(self, policy: LoadedPolicy) -> bool:
        """Unless it lives in the workers."""
        return policy.policy.place == "host"

    @contextlib.contextmanager
    def open_pool(self, folder: RunFolder, episodes: int) -> Iterator[tuple[Pool, Setting]]:
        """As many workers as suit this machine."""
        size = how_many_workers(self.options, self.policies, episodes)
        with open_pool(self.options, self.tasks, self.policies, folder, size) as (pool, renderer):
            yield pool, {"renderer": renderer, "runner": {"type": "local"}}


class RayRunner:
    """Workers on all nodes, and policies with them or in replicas, unless only this process has one, or a server."""

    def __init__(
        self,
        config: EvalConfig,
        policies: Sequence[LoadedPolicy],
        tasks: Sequence[TaskSpec],
        cluster: Cluster,
        software: Mapping[str, Any],
    ) -> None:
        self._options = config.eval
        self._policies = policies
        self._tasks = tuple(tasks)
        self._cluster = cluster
        renders = looks_at_pictures(tasks, policies)
        self._setup = Setup(
            self._tasks,
            config.eval.timeout_s,
            renders,
            policies_at_once=config.eval.policies_at_once,
            others=software["other_interpreters"],
        )
        self._entrusted = [policy for policy in policies if _can_be_elsewhere(policy)]
        looked_at = {repr(policy.spec): policy.policy.wants for policy in self._entrusted}
        lanes = [policy.policy.lanes for policy in policies if hasattr(policy.policy, "lanes")]
        most_workers = min(filter(None, [config.eval.batch_size, *lanes]), default=0)
        replicas = self._open_replicas(config.ray.policy_replicas) if self._entrusted else None
        self._pool = ClusterPool(cluster, self._setup, replicas, looked_at, most_workers)
        self._threads = 1
        self._known: dict[str, Setting | None] = {}

    def _open_replicas(self, wanted: int) -> Replicas | None:
        """On GPUs, or as many as were asked for; else each node keeps policies itself."""
        nodes = self._cluster.nodes()
        if not wanted and not any(node.gpus for node in nodes):
            return None
        replicas = Replicas(self._cluster, self._setup, wanted)
        replicas.grow(nodes)
        return replicas

    def fix_batching(self, policy: LoadedPolicy, exact: bool, stored: Mapping[str, Any] | None) -> Setting | None:
        """By the first that will compute with it, for all of them."""
        if not self._is_entrusted(policy):
            return fix_batching(policy.policy, exact=exact, stored=stored)
        charge = Charge(policy.spec, policy.id, self._tasks)
        name = getattr(policy.policy, "architecture", policy.id)
        if stored is not None or name not in self._known:
            question = Question(charge, fix_batching, {"exact": exact, "stored": stored})
            self._known[name] = self._pool.question(question)
        chosen = self._known[name]
        if chosen is not None:
            self._threads = max(self._threads, chosen["threads"] or 1)
            charge = replace(charge, batching=Batching(chosen["rows"], chosen["threads"]))
        self._pool.take_charge(charge)
        return chosen

    def infers_here(self, policy: LoadedPolicy) -> bool:
        """A policy that only this process has, or that is behind a socket: looks come to the driver for it."""
        return policy.policy.place == "host" and not self._is_entrusted(policy)

    @contextlib.contextmanager
    def open_pool(self, folder: RunFolder, episodes: int) -> Iterator[tuple[Pool, Setting]]:
        """As many workers as the nodes have CPUs, and as at home one more on each for looks that are with a policy."""
        hosted = any(policy.policy.place == "host" for policy in self._policies)
        pool = self._pool
        pool.open(1 if hosted and self._threads == 1 and not self._options.batch_size else 0)
        runner = {"type": RAY, "address": self._cluster.address, **pool.describe()}
        yield pool, {"renderer": pool.renderer, "runner": runner}

    def close(self) -> None:
        """End all that was started on the nodes, whether or not the pool was opened."""
        self._pool.close()

    def _is_entrusted(self, policy: LoadedPolicy) -> bool:
        return any(policy is other for other in self._entrusted)


def _can_be_elsewhere(policy: LoadedPolicy) -> bool:
    """Whether another process can make it, and should: one with lanes lives behind a socket already."""
    return policy.policy.place == "host" and policy.can_be_made_again and not hasattr(policy.policy, "lanes")
