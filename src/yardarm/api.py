"""Evaluation from Python."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from yardarm.errors import UsageError, nearest
from yardarm.evaluation import EvalConfig, EvalOptions, Listener
from yardarm.evaluation import evaluate as run_evaluation
from yardarm.policies import Policy, PolicySpec, as_policy
from yardarm.results import RunResult
from yardarm.tasks import BENCHMARKS, BenchmarkConfig

__all__ = ["evaluate"]


def evaluate(
    policy: str | PolicySpec | Policy | Callable[[Any], Any],
    tasks: str | Sequence[str] | BenchmarkConfig,
    *,
    benchmark: str = "metaworld",
    inputs: Sequence[str] | None = None,
    seed: int = 1000,
    output_dir: str | Path | None = None,
    resume: bool = False,
    listener: Listener | None = None,
    **options: Any,
) -> RunResult:
    """Evaluate a policy and return its results, which are on disk too.

    `policy` is a name ("expert", "package.module:Name"), a checkpoint's folder or Hub id ("owner/name"), an object that
    follows `yardarm.policies.Policy`, or any function or `torch.nn.Module` that maps a batch of observations to
    actions; such a one reads `inputs`, or all that the tasks offer.

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
        policy=as_policy(policy, lambda: env.tasks()[0].env.features, inputs),
        eval=_eval_options(options),
        seed=seed,
        output_dir=Path(output_dir) if output_dir else None,
        resume=resume,
    )
    return run_evaluation(config, listener)


def _eval_options(options: dict[str, Any]) -> EvalOptions:
    known = [known.name for known in dataclasses.fields(EvalOptions)]
    for name in options:
        if name not in known:
            raise UsageError(f"evaluate has no option '{name}'{nearest(name, known)} it has {', '.join(known)}")
    return EvalOptions(**options)
