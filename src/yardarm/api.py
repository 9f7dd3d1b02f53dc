"""Evaluation from Python."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from yardarm.cluster import RayOptions
from yardarm.comparison import Comparison, read_runs
from yardarm.comparison import compare as compare_runs
from yardarm.envs import select_tasks
from yardarm.errors import SetupError, UsageError, nearest
from yardarm.evaluation import EvalConfig, EvalOptions, EvaluationListener, SeveralResults
from yardarm.evaluation import evaluate as run_evaluation
from yardarm.evaluation import evaluate_several as run_several
from yardarm.policies import Policy, PolicySpec, against_from_data, as_policy
from yardarm.results import RunResult
from yardarm.stats import CONFIDENCE
from yardarm.tasks import BENCHMARKS, FIRST_SEED, BenchmarkConfig
from yardarm.tracking import WandbOptions

__all__ = ["compare", "evaluate", "evaluate_several", "make_env"]

PolicySource = str | PolicySpec | Policy | Callable[[Any], Any]
Tasks = str | Sequence[str] | BenchmarkConfig | Sequence[BenchmarkConfig]


def evaluate(
    policy: PolicySource,
    tasks: Tasks,
    *,
    benchmark: str = "metaworld",
    inputs: Sequence[str] | None = None,
    against: PolicySource | Path | RunResult | None = None,
    seed: int = FIRST_SEED,
    output_dir: str | Path | None = None,
    method: str | None = None,
    training_seed: int | None = None,
    trust_remote_code: bool = False,
    resume: bool = False,
    allow_mixed_versions: bool = False,
    wandb: WandbOptions | None = None,
    runner: str = "local",
    ray: RayOptions | None = None,
    listener: EvaluationListener | None = None,
    **options: Any,
) -> RunResult:
    """Evaluate a policy and return its results, which are on disk too.

    `policy` is a name ("expert", "package.module:Name"), a checkpoint's folder or Hub id ("owner/name"), an object that
    follows `yardarm.policies.Policy`, or any function or `torch.nn.Module` that maps a batch of observations to
    actions; such a one reads `inputs`, or all that the tasks offer.

    `tasks` selects tasks as ``--env.task`` does ("medium", ["reach-v3", "easy"]), or is a whole benchmark
    configuration, or a list of those. Further options are those below ``--eval.``: `n_episodes`, `batch_size`, …

    `against` is what to compare with: a run, or another policy, which plays the same episodes. With ``stop="decided"``
    the evaluation ends as soon as one of the two is better; `RunResult.stopping` tells.

    With `allow_mixed_versions` a run is resumed that other versions of simulators, torch, … have begun, which marks its
    results for good.

    `wandb` has the run tracked with Weights & Biases: ``WandbOptions(enable=True, project="…")``.

    With ``runner="ray"`` it runs on all nodes of a cluster: `RayOptions` (of `yardarm.cluster`) says which.

    With ``recording=True`` all episodes become a dataset, in the folder `recordings` inside the run's.

    Workers are started by a process of their own, so a script that calls this needs no ``__main__`` guard.
    """
    envs = _benchmarks(tasks, benchmark)
    made = _maker(envs, inputs, trust_remote_code)
    config = EvalConfig(
        env=envs,
        policy=made(policy),
        eval=_eval_options(options),
        against=_opponent(against, made),
        seed=seed,
        output_dir=Path(output_dir) if output_dir else None,
        method=method,
        training_seed=training_seed,
        trust_remote_code=trust_remote_code,
        resume=resume,
        allow_mixed_versions=allow_mixed_versions,
        wandb=wandb or WandbOptions(),
        runner=runner,
        ray=ray or RayOptions(),
    )
    return _evaluate_and_record(config, listener) if config.eval.recording else run_evaluation(config, listener)


def evaluate_several(
    policies: Sequence[PolicySource],
    tasks: Tasks,
    *,
    benchmark: str = "metaworld",
    inputs: Sequence[str] | None = None,
    seed: int = FIRST_SEED,
    output_dir: str | Path | None = None,
    trust_remote_code: bool = False,
    resume: bool = False,
    allow_mixed_versions: bool = False,
    runner: str = "local",
    ray: RayOptions | None = None,
    listener: EvaluationListener | None = None,
    **options: Any,
) -> SeveralResults:
    """Evaluate several policies on the same episodes, with the same workers; the rest is as in `evaluate`.

    Each has a run of its own, in `SeveralResults.runs`, which `compare` takes. One that fails takes nobody with it.
    """
    if not isinstance(policies, Sequence) or isinstance(policies, str):
        raise UsageError(f"evaluate_several takes a list of policies, not {policies!r}; `evaluate` takes one")
    envs = _benchmarks(tasks, benchmark)
    made = _maker(envs, inputs, trust_remote_code)
    config = EvalConfig(
        env=envs,
        policy=[made(policy) for policy in policies],
        eval=_eval_options(options),
        seed=seed,
        output_dir=Path(output_dir) if output_dir else None,
        trust_remote_code=trust_remote_code,
        resume=resume,
        allow_mixed_versions=allow_mixed_versions,
        runner=runner,
        ray=ray or RayOptions(),
    )
    return run_several(config, listener)


def _maker(
    envs: Sequence[BenchmarkConfig], inputs: Sequence[str] | None, trust_remote_code: bool
) -> Callable[[PolicySource], PolicySpec | Policy]:
    """What makes a policy of all that may stand for one; a function reads what the tasks offer."""
    return lambda source: as_policy(source, lambda: select_tasks(envs, trust_remote_code)[0].env.features, inputs)


def _evaluate_and_record(config: EvalConfig, listener: EvaluationListener | None) -> RunResult:
    from yardarm.recording import evaluate_and_record  # it needs pyarrow, which takes a moment to import

    return evaluate_and_record(config, listener)


def compare(
    *runs: str | Path | RunResult,
    paired: bool = True,
    confidence: float = CONFIDENCE,
    allow_unfinished: bool = False,
) -> Comparison:
    """Compare runs: folders of Yardarm's, LeRobot's ``eval_info.json``, or what `evaluate` returned.

    Episodes are paired by task, index and seed, and by where they begin, unless `paired` is false.
    """
    paths = [run.path if isinstance(run, RunResult) else Path(run) for run in runs]
    return compare_runs(read_runs(paths, allow_unfinished=allow_unfinished), paired, confidence)


def make_env(
    config: BenchmarkConfig | str, n_envs: int = 1, use_async_envs: bool = False, trust_remote_code: bool = False
) -> dict[str, dict[int, Any]]:
    """Gymnasium's vector environments of a benchmark's tasks, ``{suite: {task_id: VectorEnv}}``, as in LeRobot.

    `config` is a benchmark's configuration, its name ("metaworld"), or the Hub id or path of an environment's folder.
    Nothing is built before its first use, and `close` frees it between tasks. With `use_async_envs` each of several
    environments has a process of its own; a script needs a ``__main__`` guard then.
    """
    if n_envs < 1:
        raise UsageError(f"n_envs must be at least 1, got {n_envs}")
    env = _benchmark(config) if isinstance(config, str) else config
    if env.python:
        raise UsageError(f"make_env builds simulators in this interpreter; python={env.python} is for `evaluate`")
    try:
        env.check_requirements()
    except SetupError as missing:
        raise SetupError(
            f"{missing}; only pip helps make_env, which builds simulators in this interpreter"
        ) from missing
    tasks = select_tasks([env], trust_remote_code)
    try:
        from yardarm.envs.vector import vector_envs
    except ModuleNotFoundError as error:
        raise SetupError(f"make_env needs gymnasium: pip install 'gymnasium>=1.1,<2' ({error})") from error
    return vector_envs(tasks, n_envs, use_async_envs)


def _opponent(source: Any, made: Callable[[Any], PolicySpec | Policy]) -> Path | PolicySpec | Policy | None:
    if isinstance(source, RunResult):
        return source.path
    if source is None or isinstance(source, str | Path):
        return against_from_data(None if source is None else str(source), trusted=True)  # a program was typed
    return made(source)


def _benchmark(name: str) -> BenchmarkConfig:
    is_folder = name not in BENCHMARKS.names() and ("/" in name or Path(name).exists())
    return BENCHMARKS.load("hub")(path=name) if is_folder else BENCHMARKS.load(name)()


def _benchmarks(tasks: Tasks, benchmark: str) -> list[BenchmarkConfig]:
    given = [tasks] if isinstance(tasks, str | BenchmarkConfig) else list(tasks)
    configs = [item for item in given if isinstance(item, BenchmarkConfig)]
    names = [item for item in given if isinstance(item, str)]
    if configs and len(configs) == len(given):
        return configs
    if len(names) != len(given):
        raise UsageError("tasks must be names of tasks, or benchmark configurations, not some of each")
    return [BENCHMARKS.load(benchmark)(task=",".join(names))]


def _eval_options(options: dict[str, Any]) -> EvalOptions:
    known = [known.name for known in dataclasses.fields(EvalOptions)]
    for name in options:
        if name not in known:
            raise UsageError(f"evaluate has no option '{name}'{nearest(name, known)} it has {', '.join(known)}")
    return EvalOptions(**options)
