"""The runner that a configuration asks for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from yardarm.engine import LocalRunner, Runner
from yardarm.evaluation.config import RAY, EvalConfig
from yardarm.policies import LoadedPolicy, Policy, PolicySpec, Releasable, open_policy
from yardarm.tasks import TaskSpec

__all__ = ["check_runner", "open_policy_for", "open_runner"]


def check_runner(config: EvalConfig) -> None:
    """Refuse a cluster that is not there, before anything slow starts."""
    if config.runner == RAY:
        from yardarm.cluster import check_address

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
    config: EvalConfig,
    policies: Sequence[LoadedPolicy],
    tasks: Sequence[TaskSpec],
    interpreters: Mapping[str, Mapping[str, str | None]],
) -> Iterator[Runner]:
    """The runner that the configuration asks for; nodes of a cluster must have the same other interpreters."""
    if config.runner != RAY:
        yield LocalRunner(config.eval.engine, policies, tasks)
        return
    from yardarm.cluster import RayRunner, open_cluster

    with (
        open_cluster(config.ray) as cluster,
        contextlib.closing(RayRunner(config.eval.engine, config.ray, policies, tasks, cluster, interpreters)) as runner,
    ):
        yield runner
