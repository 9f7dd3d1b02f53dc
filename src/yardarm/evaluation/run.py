"""An evaluation of one policy, from its configuration to its results."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from yardarm.envs import select_tasks
from yardarm.evaluation.config import EvalConfig
from yardarm.evaluation.contestant import Contestant, close_contestants, finish_contestants, open_contestants
from yardarm.evaluation.listener import EvaluationListener
from yardarm.evaluation.plan import Plan
from yardarm.evaluation.preflight import check_policy_fits, check_requirements, naming
from yardarm.evaluation.runners import check_runner, open_policy_for
from yardarm.evaluation.session import Session
from yardarm.evaluation.stopping.early_stopping import EarlyStopping
from yardarm.evaluation.stopping.opponent import StoredOpponent
from yardarm.policies import LoadedPolicy
from yardarm.results import PRECISION, RunResult, StoppingDeclaration
from yardarm.tracking import Tracker, open_tracker

__all__ = ["evaluate"]


def evaluate(
    config: EvalConfig, listener: EvaluationListener | None = None, check: Callable[[Plan], None] = lambda plan: None
) -> RunResult:
    """Run what is missing of an evaluation, and return the results of all of it.

    `check` is called with the plan before anything is played or written, and may raise to refuse it.
    """
    assert not config.several, "several policies have results of their own: `evaluate_several`"
    listener = listener or EvaluationListener()
    check_runner(config)
    tracker = open_tracker(config.wandb)
    listener.preparing("finding the tasks")
    tasks = select_tasks(config.envs, config.trust_remote_code)
    listener.preparing("loading the policy")
    with contextlib.ExitStack() as stack:
        policies = [stack.enter_context(open_policy_for(config, config.policies[0], tasks, config.rename_map))]
        if config.against is not None and not isinstance(config.against, Path):
            with naming("--against"):
                policies.append(stack.enter_context(open_policy_for(config, config.against, tasks)))
                check_policy_fits(policies[1].policy, policies[1].traits, tasks)
            config = replace(config, against=policies[1].spec)
        check_policy_fits(policies[0].policy, policies[0].traits, tasks)
        check_requirements(config, tasks)
        plan = Plan(policies[0].id, tasks, config.eval.n_episodes, config.seed, shard=config.part)
        check(plan)
        return _evaluate(config, policies, plan, listener, tracker)


def _evaluate(
    config: EvalConfig,
    policies: Sequence[LoadedPolicy],
    plan: Plan,
    listener: EvaluationListener,
    tracker: Tracker,
) -> RunResult:
    """Run what is missing of a plan, with policies that are loaded and fit its tasks."""
    opponent = None
    if isinstance(config.against, Path):
        opponent = StoredOpponent.read(config.against, plan.episodes())
        if config.eval.stop:
            opponent.check_has_all(config.against, plan.episodes())
    declared = _declaration(config, policies, plan, opponent)
    with open_contestants(config, policies, plan, declared) as contestants:
        if contestants[0].is_new:
            contestants[0].opened.name_after(config.job_name)
        tracker.attach(contestants[0].manifest)
        early_stopping = EarlyStopping.begin(declared, contestants, opponent) if declared else None
        session = Session(config, contestants[0].folder, contestants, listener, tracker, early_stopping)
        try:
            with session.pictures() as pictures:
                session.play_missing_episodes()
                session.film()
                finish_contestants(contestants, [session.warnings(contestant) for contestant in contestants])
                pictures.finish()
        finally:
            results = [session.summarise(contestant) for contestant in contestants]
            close_contestants(contestants, results)
            tracker.finish(results[0])
    # Without early stopping, the comparison at the end shows the notes about the other run.
    notes = opponent.run.notes if opponent and declared else ()
    warnings = itertools.chain(notes, *(own.manifest.current.warnings for own in contestants))
    return replace(
        results[0],
        warnings=tuple(dict.fromkeys(warnings)),
        against=_compared_with(config, contestants),
        errors_of_opponent=sum(result.counts.errors for result in results[1:]),
    )


def _declaration(
    config: EvalConfig, policies: Sequence[LoadedPolicy], plan: Plan, opponent: StoredOpponent | None
) -> StoppingDeclaration | None:
    """What is declared about early stopping."""
    options = config.eval
    if not options.stop:
        return None
    declared = StoppingDeclaration(options.stop, options.n_episodes, options.confidence)
    if options.stop == PRECISION:
        return replace(declared, half_width=options.half_width)
    if opponent is None:
        return replace(declared, against=policies[1].id)
    return replace(declared, against=opponent.id, outcomes=opponent.digest(plan.episodes()))


def _compared_with(config: EvalConfig, contestants: Sequence[Contestant]) -> Path | None:
    """The run that holds the other side's results."""
    if len(contestants) > 1:
        return contestants[1].folder.path
    return config.against if isinstance(config.against, Path) else None
