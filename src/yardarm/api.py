"""Evaluation from Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from yardarm.evaluation import EvalConfig, EvalOptions, Listener
from yardarm.evaluation import evaluate as run_evaluation
from yardarm.policies import Policy, PolicySpec
from yardarm.results import RunResult
from yardarm.tasks import BENCHMARKS, BenchmarkConfig

__all__ = ["evaluate"]


def evaluate(
    policy: str | PolicySpec | Policy,
    tasks: str | Sequence[str] | BenchmarkConfig,
    *,
    benchmark: str = "metaworld",
    seed: int = 1000,
    output_dir: str | Path | None = None,
    resume: bool = False,
    listener: Listener | None = None,
    **options: Any,
) -> RunResult:
    """Evaluate a policy and return its results, which are on disk too.

    `policy` is a name ("expert", "package.module:Name"), or an object that follows `yardarm.policies.Policy`.
    `tasks` selects tasks as ``--env.task`` does ("medium", ["reach-v3", "easy"]), or is a whole benchmark
    configuration. Further options are those below ``--eval.``: `n_episodes`, `batch_size`, `videos`, …

    Workers are started by a process of their own, so a script that calls this needs no ``__main__`` guard.
    """
    if isinstance(tasks, BenchmarkConfig):
        env = tasks
    else:
        env = BENCHMARKS.load(benchmark)(task=tasks if isinstance(tasks, str) else ",".join(tasks))
    config = EvalConfig(
        env=env,
        policy=PolicySpec(policy) if isinstance(policy, str) else policy,
        eval=EvalOptions(**options),
        seed=seed,
        output_dir=Path(output_dir) if output_dir else None,
        resume=resume,
    )
    return run_evaluation(config, listener)
