"""Evaluate one policy, or several."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from yardarm.api.functions import api_function, options_of
from yardarm.api.results import EvaluatedRun, EvaluatedRuns
from yardarm.api.sources import PolicySource, Tasks, benchmarks_of, can_be_resumed, opponent_of, policy_maker
from yardarm.api.watching import evaluation_listener, interruption
from yardarm.cluster import RayOptions
from yardarm.errors import UsageError
from yardarm.evaluation import EvalConfig, EvalOptions, EvaluationListener
from yardarm.evaluation import evaluate as run_evaluation
from yardarm.evaluation import evaluate_several as run_several
from yardarm.results import RunResult
from yardarm.tasks import FIRST_SEED
from yardarm.tracking import WandbOptions

__all__ = ["evaluate", "evaluate_several"]

RESUME = "stopped; finished episodes are kept, and the same call with resume=True continues from there"
KEPT = "stopped; finished episodes are kept in the run's folder"


@api_function(EvalOptions)
def evaluate(
    policy: PolicySource,
    tasks: Tasks,
    *,
    benchmark: str = "metaworld",
    inputs: Sequence[str] | None = None,
    against: PolicySource | RunResult | None = None,
    seed: int = FIRST_SEED,
    output_dir: str | Path | None = None,
    job_name: str | None = None,
    method: str | None = None,
    training_seed: int | None = None,
    trust_remote_code: bool = False,
    resume: bool = False,
    allow_mixed_versions: bool = False,
    wandb: WandbOptions | None = None,
    runner: str = "local",
    ray: RayOptions | None = None,
    progress: bool | None = None,
    listener: EvaluationListener | None = None,
    **options: Any,
) -> EvaluatedRun:
    """Evaluate a policy and return its results, which are also on disk.

        run = yardarm.evaluate("expert", ["reach-v3", "push-v3"], n_episodes=10)

    The results print as a table; `run.plot()` draws them, `run.to_pandas()` has a row per episode.

    `policy` is a name ("expert", "mt10-act", "package.module:Name"), a checkpoint's folder or Hub id ("owner/name"), an
    object that follows `yardarm.policies.Policy`, or any function or `torch.nn.Module` that maps a batch of
    observations to actions; a function or module reads `inputs`, or everything that the tasks offer.

    `tasks` names tasks or groups of `benchmark` ("medium", ["reach-v3", "easy"]), or is a benchmark's configuration, or
    a list of those.

    `against` is a run to compare with, or another policy, which plays the same episodes. With ``stop="decided"`` the
    evaluation stops as soon as one of the two is significantly better; `run.stopping` has the decision.

    Episode k of a task has the seed `seed` + k. Everything is written to `output_dir`, or to a new folder in
    ``outputs/eval``. After an interruption, the same call with ``resume=True`` continues where it stopped.

    `progress` shows a progress bar; by default on a terminal and in a notebook. A `listener` hears of everything
    instead.

    `method` and `training_seed` say how the policy was trained: `compare` groups the training seeds of a method.
    `allow_mixed_versions` resumes a run that was started with other versions of simulators, torch, …; its results are
    then marked permanently. `wandb` tracks the run with Weights & Biases: ``WandbOptions(enable=True, project="…")``.
    ``runner="ray"`` runs on all nodes of a Ray cluster, which `RayOptions` (in `yardarm.cluster`) selects.
    `trust_remote_code` allows environments whose code comes from elsewhere.

    A separate process starts the workers, so a script that calls this needs no ``__main__`` guard.
    """
    envs = benchmarks_of(tasks, benchmark)
    make_policy = policy_maker(envs, inputs, trust_remote_code)
    (chosen,) = options_of("evaluate", options, EvalOptions)
    config = EvalConfig(
        env=envs,
        policy=make_policy(policy),
        eval=chosen,
        against=opponent_of(against, make_policy),
        seed=seed,
        output_dir=output_dir,  # type: ignore[arg-type]  # text becomes a path there
        job_name=job_name,
        method=method,
        training_seed=training_seed,
        trust_remote_code=trust_remote_code,
        resume=resume,
        allow_mixed_versions=allow_mixed_versions,
        wandb=wandb or WandbOptions(),
        runner=runner,
        ray=ray or RayOptions(),
    )
    hint = RESUME if can_be_resumed(policy) else KEPT
    with interruption(hint), evaluation_listener(progress, listener) as heard:
        play = _evaluate_and_record if chosen.recording else run_evaluation
        return EvaluatedRun.of(play(config, heard))


@api_function(EvalOptions)
def evaluate_several(
    policies: Sequence[PolicySource],
    tasks: Tasks,
    *,
    benchmark: str = "metaworld",
    inputs: Sequence[str] | None = None,
    seed: int = FIRST_SEED,
    output_dir: str | Path | None = None,
    job_name: str | None = None,
    trust_remote_code: bool = False,
    resume: bool = False,
    allow_mixed_versions: bool = False,
    runner: str = "local",
    ray: RayOptions | None = None,
    progress: bool | None = None,
    listener: EvaluationListener | None = None,
    **options: Any,
) -> EvaluatedRuns:
    """Evaluate several policies on the same episodes with the same workers; the arguments are those of `evaluate`.

        results = yardarm.evaluate_several(["expert", "mt10-act", "random"], "mt10", n_episodes=10)

    The results print as a comparison. Each policy has its own run in `results.runs`. If one fails, the rest continue.
    """
    if not isinstance(policies, Sequence) or isinstance(policies, str):
        raise UsageError(f"evaluate_several takes a list of policies, got {policies!r}; use `evaluate` for one policy")
    envs = benchmarks_of(tasks, benchmark)
    make_policy = policy_maker(envs, inputs, trust_remote_code)
    (chosen,) = options_of("evaluate_several", options, EvalOptions)
    config = EvalConfig(
        env=envs,
        policy=[make_policy(policy) for policy in policies],
        eval=chosen,
        seed=seed,
        output_dir=output_dir,  # type: ignore[arg-type]
        job_name=job_name,
        trust_remote_code=trust_remote_code,
        resume=resume,
        allow_mixed_versions=allow_mixed_versions,
        runner=runner,
        ray=ray or RayOptions(),
    )
    hint = RESUME if all(map(can_be_resumed, policies)) else KEPT
    with interruption(hint), evaluation_listener(progress, listener) as heard:
        return EvaluatedRuns.of(run_several(config, heard))


def _evaluate_and_record(config: EvalConfig, listener: EvaluationListener | None) -> RunResult:
    from yardarm.recording import evaluate_and_record  # needs pyarrow, which is slow to import

    return evaluate_and_record(config, listener)
