"""Evaluation from Python."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from yardarm.errors import UsageError
from yardarm.evaluation import EvalConfig, EvalOptions, Listener
from yardarm.evaluation import evaluate as run_evaluation
from yardarm.policies import FunctionPolicy, ModulePolicy, Policy, PolicySpec
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
        policy=_as_policy(policy, env, inputs),
        eval=EvalOptions(**options),
        seed=seed,
        output_dir=Path(output_dir) if output_dir else None,
        resume=resume,
    )
    return run_evaluation(config, listener)


def _as_policy(policy: Any, env: BenchmarkConfig, inputs: Sequence[str] | None) -> PolicySpec | Policy:
    if isinstance(policy, str | Path):
        name = str(policy)
        is_path = isinstance(policy, Path) or ("/" in name and ":" not in name)
        return PolicySpec("pretrained", {"path": name}) if is_path else PolicySpec(name)
    if isinstance(policy, PolicySpec) or hasattr(policy, "infer"):
        return policy
    features = env.tasks()[0].env.features
    names = tuple(features) if inputs is None else tuple(inputs)
    torch = sys.modules.get("torch")  # a module of torch cannot be here without it
    if torch is not None and isinstance(policy, torch.nn.Module):
        return ModulePolicy(policy, features, names)
    if callable(policy):
        return FunctionPolicy(policy, features, names)
    raise UsageError(f"{type(policy).__name__} is no policy: give a name, a checkpoint, a function or a torch module")
