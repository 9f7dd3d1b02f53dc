"""An evaluation from its configuration to its results."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace

import yaml

from yardarm.envs import installed_for
from yardarm.errors import UsageError
from yardarm.evaluation.config import EvalConfig
from yardarm.evaluation.config_file import config_to_data
from yardarm.evaluation.conventions import odd_actions
from yardarm.evaluation.exactness import fix_batching
from yardarm.evaluation.filming import Filming
from yardarm.evaluation.folders import open_folder
from yardarm.evaluation.listener import Listener
from yardarm.evaluation.plan import Plan
from yardarm.evaluation.preflight import check_policy_fits
from yardarm.evaluation.queue import EpisodeQueue
from yardarm.evaluation.scheduler import EpisodeResult, Scheduler
from yardarm.evaluation.selection import select_tasks
from yardarm.evaluation.videos import film_finished_episodes
from yardarm.evaluation.workers import how_many_workers, open_pool
from yardarm.policies import LoadedPolicy, open_policy
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
from yardarm.tasks import TaskSpec

__all__ = ["evaluate"]


def evaluate(config: EvalConfig, listener: Listener | None = None) -> RunResult:
    """Run what is missing of an evaluation, and return the results of all of it."""
    listener = listener or Listener()
    listener.preparing("finding the tasks")
    tasks = select_tasks(config.envs, config.trust_remote_code)
    listener.preparing("loading the policy")
    with open_policy(config.policy, tasks, config.rename_map) as policy:
        check_policy_fits(policy.policy, tasks)
        return _evaluate(config, policy, tasks, listener)


def _evaluate(config: EvalConfig, policy: LoadedPolicy, tasks: tuple[TaskSpec, ...], listener: Listener) -> RunResult:
    """Run what is missing with a policy that is loaded, and fits the tasks."""
    if config.eval.videos and not any(task.env.cameras for task in tasks):
        raise UsageError(f"--eval.videos={config.eval.videos}: none of the tasks draws anything")
    plan = Plan(policy.id, tasks, config.eval.n_episodes, config.seed)
    for env in config.envs:
        if not env.python:  # another interpreter's packages are tried when its workers are started
            env.check_requirements()
    folder = open_folder(config, plan)
    with Journal(folder.journal) as journal:
        run = _Run(config, policy, plan, journal, Manifest(folder, plan.to_json()), listener)
        try:
            run.play_missing_episodes()
            if config.eval.videos:
                film_finished_episodes(folder, plan, journal, config.eval, run.listener)
            warnings = run.warnings()
            run.manifest.finish(warnings)
        finally:
            run.manifest.close()
            result = run.summarise()
    return replace(result, warnings=warnings)


@dataclass(frozen=True, slots=True)
class _Run:
    """All that belongs to a run while it goes on."""

    config: EvalConfig
    policy: LoadedPolicy
    plan: Plan
    journal: Journal
    manifest: Manifest
    listener: Listener

    @property
    def folder(self) -> RunFolder:
        return self.manifest.folder

    def play_missing_episodes(self) -> None:
        missing = self.plan.missing(self.journal.finished())
        if not missing:
            self.listener.started(self.folder.path, self.plan, 0, 0)
            return
        options = self.config.eval
        self.listener.preparing("trying the policy")
        inference = fix_batching(self.policy.policy, exact=options.exact, stored=self.manifest.inference)
        size = how_many_workers(options, self.policy, len(missing))
        tasks = list({episode.task.key(): episode.task for episode in missing}.values())
        _write_config(self.folder, self.config, self.policy)
        self.listener.preparing("starting simulators")
        with open_pool(options, tasks, self.policy, self.folder, size) as (pool, renderer):
            setting = {"batch_size": size, "renderer": renderer, "inference": inference}
            others = {python: installed_for(python) for python in {task.env.python for task in tasks} if python}
            self.manifest.begin_session({**setting, "policy": self.policy.describe(), "other_interpreters": others})
            self.listener.started(self.folder.path, self.plan, len(missing), size)
            queue = EpisodeQueue(missing, _max_parallel_tasks(self.config))
            with contextlib.closing(Filming(self.folder, self.plan, options.videos)) as filming:
                scheduler = Scheduler(queue, pool, self.policy, filming, options.max_retries)
                with contextlib.closing(iter(scheduler)) as results:
                    for result in results:  # in the order in which episodes finish
                        record = _keep(result, self.plan, self.folder, filming)
                        self.journal.append(record)
                        self.manifest.keep_current()
                        self.listener.finished(record)

    def warnings(self) -> tuple[str, ...]:
        """What to tell of a policy that may have another convention than its environment's."""
        if getattr(self.policy.policy, "scripted", False):
            return ()
        return odd_actions(self.summarise(), self.folder)

    def summarise(self) -> RunResult:
        """The results so far, which are written down too, if anything has begun."""
        keys = [self.plan.key(episode) for episode in self.plan.episodes()]
        records = [self.journal.records[key] for key in keys if key in self.journal.records]
        result = summarise(self.folder.path, self.plan.tasks, records, len(keys), self.manifest.wall_s)
        if self.folder.manifest.exists():
            write_json(self.folder.eval_info, eval_info(result, self.folder.videos()))
        return result


def _max_parallel_tasks(config: EvalConfig) -> int:
    """The strictest of the benchmarks' limits; 0 if there is none."""
    return min((env.max_parallel_tasks for env in config.envs if env.max_parallel_tasks), default=0)


def _keep(result: EpisodeResult, plan: Plan, folder: RunFolder, filming: Filming) -> EpisodeRecord:
    """Store what was played, and make the episode's record."""
    key, rollout = plan.key(result.episode), result.rollout
    if rollout is None:
        filming.drop(result.episode)
        return EpisodeRecord(key, "error", error=result.error, attempts=result.attempts, timing=result.timing)
    filming.finish(result.episode)
    folder.save_played(key, PlayedEpisode(rollout.actions, rollout.rewards, rollout.initial_state, rollout.travel))
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


def _write_config(folder: RunFolder, config: EvalConfig, policy: LoadedPolicy) -> None:
    # The spec has the renaming among its options, where any policy finds it.
    resolved = replace(config, policy=policy.spec, rename_map=None, output_dir=folder.path)
    text = yaml.safe_dump(config_to_data(resolved), sort_keys=False, allow_unicode=True)
    write_atomically(folder.config, lambda file: file.write(text.encode()))
