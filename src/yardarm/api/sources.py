"""What users hand over in place of a policy, tasks, or an opponent."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from yardarm.config import fitted
from yardarm.envs import select_tasks
from yardarm.errors import UsageError
from yardarm.policies import Policy, PolicySpec, against_from_data, as_policy
from yardarm.results import RunResult
from yardarm.tasks import BENCHMARKS, BenchmarkConfig

__all__ = ["PolicySource", "Tasks", "benchmarks_of", "can_be_resumed", "opponent_of", "policy_maker"]

PolicySource = str | Path | PolicySpec | Policy | Callable[[Any], Any]
Tasks = str | Sequence[str] | BenchmarkConfig | Sequence[BenchmarkConfig]


def benchmarks_of(tasks: Tasks, benchmark: str) -> list[BenchmarkConfig]:
    """Names of one benchmark's tasks, or configurations, which name their tasks themselves."""
    fitted("benchmark", str, benchmark)
    given = [tasks] if isinstance(tasks, str | BenchmarkConfig) else tasks
    if not isinstance(given, Sequence) or not all(isinstance(item, str | BenchmarkConfig) for item in given):
        raise UsageError(
            f"tasks must be a task's name, a list of names, or a benchmark's configuration, got {tasks!r}; "
            f"`yardarm tasks {benchmark}` lists the names"
        )
    configs = [item for item in given if isinstance(item, BenchmarkConfig)]
    if configs and len(configs) < len(given):
        raise UsageError("tasks must be task names or benchmark configurations, not a mix of both")
    return configs or [BENCHMARKS.load(benchmark)(task=",".join(map(str, given)))]


def policy_maker(
    envs: Sequence[BenchmarkConfig], inputs: Sequence[str] | None, trust_remote_code: bool
) -> Callable[[PolicySource], PolicySpec | Policy]:
    """A function that makes a policy from any accepted source; plain functions read what the tasks offer."""
    return lambda source: as_policy(source, lambda: select_tasks(envs, trust_remote_code)[0].env.features, inputs)


def opponent_of(source: Any, make_policy: Callable[[Any], PolicySpec | Policy]) -> Path | PolicySpec | Policy | None:
    """A run to compare with, or a policy."""
    if isinstance(source, RunResult):
        return source.path
    if source is None or isinstance(source, str | Path):
        # Typed by the user in a program.
        return against_from_data(None if source is None else str(source), trusted=True)
    return make_policy(source)


def can_be_resumed(policy: PolicySource) -> bool:
    """Whether the same call finds its run again: nothing tells whether a function is still the same one."""
    return not inspect.isroutine(policy) or hasattr(policy, "id")
