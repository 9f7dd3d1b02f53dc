"""An evaluation from its configuration to its results."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import yaml

from yardarm.evaluation.config import EvalConfig
from yardarm.evaluation.config_file import config_to_data
from yardarm.evaluation.filming import Filming
from yardarm.evaluation.folders import open_folder
from yardarm.evaluation.listener import Listener
from yardarm.evaluation.plan import Plan, check_inputs
from yardarm.evaluation.queue import EpisodeQueue
from yardarm.evaluation.scheduler import EpisodeResult, Scheduler
from yardarm.evaluation.videos import film_finished_episodes
from yardarm.evaluation.workers import how_many_workers, open_pool
from yardarm.policies import LoadedPolicy, load_policy
from yardarm.results import (
    EpisodeRecord,
    Journal,
    Manifest,
    PlayedEpisode,
    RunFolder,
    RunResult,
    eval_info,
    summarise,
    write_atomically,
    write_json,
)

__all__ = ["evaluate"]


def evaluate(config: EvalConfig, listener: Listener | None = None) -> RunResult:
    """Run what is missing of an evaluation, and return the results of all of it."""
    listener = listener or Listener()
    policy = load_policy(config.policy)
    plan = Plan(policy.id, config.env.tasks(), config.eval.n_episodes, config.seed)
    check_inputs(policy.policy, plan.tasks)
    config.env.check_requirements()
    folder = open_folder(config, plan)
    with Journal(folder.journal) as journal:
        manifest = Manifest(folder, plan.to_json())
        try:
            _run_missing(config, policy, plan, journal, manifest, listener)
            if config.eval.videos:
                film_finished_episodes(folder, plan, journal, config.eval, listener)
            manifest.finish()
        finally:
            manifest.close()
            result = _summary(folder, plan, journal, manifest.wall_s)
            if folder.manifest.exists():  # or else nothing has begun
                write_json(folder.eval_info, eval_info(result, folder.videos()))
    return result


def _run_missing(
    config: EvalConfig, policy: LoadedPolicy, plan: Plan, journal: Journal, manifest: Manifest, listener: Listener
) -> None:
    folder = manifest.folder
    missing = plan.missing(journal.finished())
    if not missing:
        listener.started(folder.path, plan, 0, 0)
        return
    size = how_many_workers(config.eval, policy, len(missing))
    tasks = list({episode.task.key(): episode.task for episode in missing}.values())
    _write_config(folder, config, policy)
    with open_pool(config.eval, tasks, policy, folder, size) as (pool, renderer):
        manifest.begin_session({"batch_size": size, "renderer": renderer})
        listener.started(folder.path, plan, len(missing), size)
        queue = EpisodeQueue(missing, config.env.max_parallel_tasks)
        with contextlib.closing(Filming(folder, config.eval.videos)) as filming:
            scheduler = Scheduler(queue, pool, policy, filming, config.eval.max_retries)
            with contextlib.closing(iter(scheduler)) as results:
                for episode in results:
                    record = _keep(episode, plan, folder, filming)
                    journal.append(record)
                    manifest.keep_current()
                    listener.finished(record)


def _keep(result: EpisodeResult, plan: Plan, folder: RunFolder, filming: Filming) -> EpisodeRecord:
    """Store what was played, and make the episode's record."""
    key, rollout = plan.key(result.episode), result.rollout
    if rollout is None:
        filming.drop(result.episode)
        return EpisodeRecord(key, "error", error=result.error, attempts=result.attempts, timing=result.timing)
    filming.finish(result.episode)
    folder.save_played(key, PlayedEpisode(rollout.actions, rollout.rewards, rollout.initial_state))
    return EpisodeRecord(
        key=key,
        status="success" if rollout.success else "failure",
        steps=len(rollout.rewards),
        sum_reward=float(rollout.rewards.sum()),
        max_reward=float(rollout.rewards.max()),
        terminated=rollout.terminated,
        fingerprints={str(step): value for step, value in rollout.fingerprints.items()},
        attempts=result.attempts,
        timing=result.timing,
    )


def _summary(folder: RunFolder, plan: Plan, journal: Journal, wall_s: float) -> RunResult:
    keys = [plan.key(episode) for episode in plan.episodes()]
    records = [journal.records[key] for key in keys if key in journal.records]
    return summarise(folder.path, plan.tasks, records, len(keys), wall_s)


def _write_config(folder: RunFolder, config: EvalConfig, policy: LoadedPolicy) -> None:
    resolved = replace(config, policy=policy.spec, output_dir=folder.path)
    text = yaml.safe_dump(config_to_data(resolved), sort_keys=False, allow_unicode=True)
    write_atomically(folder.config, lambda file: file.write(text.encode()))
