"""The Python API: evaluate policies, compare runs, build environments."""

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
    """Evaluate a policy and return its results, which are also on disk.

    `policy` is a name ("expert", "package.module:Name"), a checkpoint's folder or Hub id ("owner/name"), an object that
    follows `yardarm.policies.Policy`, or any function or `torch.nn.Module` that maps a batch of observations to
    actions; a function or module reads `inputs`, or everything that the tasks offer.

    `tasks` selects tasks like ``--env.task`` ("medium", ["reach-v3", "easy"]), or is a benchmark configuration, or a
    list of those. `options` are the ``--eval.`` flags: `n_episodes`, `batch_size`, …

    `against` is a run to compare with, or another policy, which plays the same episodes. With ``stop="decided"`` the
    evaluation stops as soon as one of the two is significantly better; `RunResult.stopping` has the decision.

    `allow_mixed_versions` resumes a run that was started with other versions of simulators, torch, …; its results are
    then marked permanently.

    `wandb` tracks the run with Weights & Biases: ``WandbOptions(enable=True, project="…")``.

    ``runner="ray"`` runs on all nodes of a Ray cluster, which `RayOptions` (in `yardarm.cluster`) selects.

    ``recording=True`` writes all episodes as a dataset, in the run's folder `recordings`.

    A separate process starts the workers, so a script that calls this needs no ``__main__`` guard.
    """
    envs = _benchmarks(tasks, benchmark)
    make_policy = _policy_maker(envs, inputs, trust_remote_code)
    config = EvalConfig(
        env=envs,
        policy=make_policy(policy),
        eval=_eval_options(options),
        against=_opponent(against, make_policy),
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
    """Evaluate several policies on the same episodes with the same workers; other arguments are those of `evaluate`.

    Each policy has its own run in `SeveralResults.runs`, which `compare` accepts. If one fails, the rest continue.
    """
    if not isinstance(policies, Sequence) or isinstance(policies, str):
        raise UsageError(f"evaluate_several takes a list of policies, got {policies!r}; use `evaluate` for one policy")
    envs = _benchmarks(tasks, benchmark)
    make_policy = _policy_maker(envs, inputs, trust_remote_code)
    config = EvalConfig(
        env=envs,
        policy=[make_policy(policy) for policy in policies],
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


def _policy_maker(
    envs: Sequence[BenchmarkConfig], inputs: Sequence[str] | None, trust_remote_code: bool
) -> Callable[[PolicySource], PolicySpec | Policy]:
    """A function that makes a policy from any accepted source; plain functions read what the tasks offer."""
    return lambda source: as_policy(source, lambda: select_tasks(envs, trust_remote_code)[0].env.features, inputs)


def _evaluate_and_record(config: EvalConfig, listener: EvaluationListener | None) -> RunResult:
    from yardarm.recording import evaluate_and_record  # needs pyarrow, which is slow to import

    return evaluate_and_record(config, listener)


def compare(
    *runs: str | Path | RunResult,
    paired: bool = True,
    confidence: float = CONFIDENCE,
    allow_unfinished: bool = False,
) -> Comparison:
    """Compare runs: Yardarm's folders, LeRobot's ``eval_info.json``, or results of `evaluate`.

    Episodes are paired by task, index, seed and initial state, unless `paired` is false.
    """
    paths = [run.path if isinstance(run, RunResult) else Path(run) for run in runs]
    return compare_runs(read_runs(paths, allow_unfinished=allow_unfinished), paired, confidence)


def make_env(
    config: BenchmarkConfig | str, n_envs: int = 1, use_async_envs: bool = False, trust_remote_code: bool = False
) -> dict[str, dict[int, Any]]:
    """Make Gymnasium vector environments of a benchmark's tasks, ``{suite: {task_id: VectorEnv}}``, as in LeRobot.

    `config` is a benchmark's configuration, its name ("metaworld"), or the Hub id or path of an environment's folder.
    Environments are built on first use, and `close` frees them. With `use_async_envs` each of several environments runs
    in its own process; a script then needs a ``__main__`` guard.
    """
    if n_envs < 1:
        raise UsageError(f"n_envs must be at least 1, got {n_envs}")
    env = _benchmark(config) if isinstance(config, str) else config
    if env.python:
        raise UsageError(
            f"make_env builds simulators in this interpreter, so python={env.python} does not apply; use `evaluate`"
        )
    try:
        env.check_requirements()
    except SetupError as missing:
        raise SetupError(
            f"{missing}; make_env builds simulators in this interpreter, so they must be installed here with pip"
        ) from missing
    tasks = select_tasks([env], trust_remote_code)
    try:
        from yardarm.envs.vector import vector_envs
    except ModuleNotFoundError as error:
        raise SetupError(f"make_env needs gymnasium; run: pip install 'gymnasium>=1.1,<2' ({error})") from error
    return vector_envs(tasks, n_envs, use_async_envs)


def _opponent(source: Any, make_policy: Callable[[Any], PolicySpec | Policy]) -> Path | PolicySpec | Policy | None:
    if isinstance(source, RunResult):
        return source.path
    if source is None or isinstance(source, str | Path):
        return against_from_data(
            None if source is None else str(source), trusted=True
        )  # typed by the user in a program
    return make_policy(source)


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
        raise UsageError("tasks must be task names or benchmark configurations, not a mix of both")
    return [BENCHMARKS.load(benchmark)(task=",".join(names))]


def _eval_options(options: dict[str, Any]) -> EvalOptions:
    known = [known.name for known in dataclasses.fields(EvalOptions)]
    for name in options:
        if name not in known:
            raise UsageError(
                f"evaluate has no option '{name}'{nearest(name, known)} its options are {', '.join(known)}"
            )
    return EvalOptions(**options)
