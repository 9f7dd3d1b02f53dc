"""An evaluation from its configuration to its results."""

from __future__ import annotations

import contextlib
import datetime as dt
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import yaml

from yardarm.envs import LocalPool, Pool, ProcessPool
from yardarm.evaluation.config import MOST_WORKERS, EvalConfig
from yardarm.evaluation.config_file import config_to_data
from yardarm.evaluation.filming import Filming, film_of
from yardarm.evaluation.folders import open_folder
from yardarm.evaluation.listener import Listener
from yardarm.evaluation.plan import Plan, check_inputs
from yardarm.evaluation.queue import EpisodeQueue
from yardarm.evaluation.replay import Replay, replay_all
from yardarm.evaluation.scheduler import EpisodeResult, Scheduler
from yardarm.machine import usable_cores
from yardarm.policies import LoadedPolicy, load_policy
from yardarm.results import (
    EpisodeRecord,
    Journal,
    PlayedEpisode,
    RunFolder,
    RunResult,
    eval_info,
    provenance,
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
        missing = plan.missing(journal.finished())
        size = _batch_size(config, policy, len(missing))
        with _open_pool(config, plan, policy, folder, size) as (pool, renderer):
            manifest = _Manifest(folder, plan, {"batch_size": size, "renderer": renderer})
            _write_config(folder, config, policy)
            listener.started(folder.path, plan, len(missing), size)
            filming = Filming(folder, config.eval.videos)
            try:
                queue = EpisodeQueue(missing, config.env.max_parallel_tasks)
                for result in Scheduler(queue, pool, policy, filming, config.eval.max_retries):
                    record = _keep(result, plan, folder, filming)
                    journal.append(record)
                    listener.finished(record)
                manifest.update("finished")
            finally:
                filming.close()
                manifest.update_if_running("interrupted")
                run = _summary(folder, plan, journal, manifest.wall_s)
                _write_eval_info(folder, run)
        if config.eval.videos:
            _film(config, plan, journal, folder, listener)
            _write_eval_info(folder, run)
    return run


def _keep(result: EpisodeResult, plan: Plan, folder: RunFolder, filming: Filming) -> EpisodeRecord:
    """Store what was played, and make the episode's record."""
    key, rollout = plan.key(result.episode), result.rollout
    if rollout is None:
        filming.drop(result.episode)
        return EpisodeRecord(key, "error", error=result.error, attempts=result.attempts, timing=_rounded(result.timing))
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
        timing=_rounded(result.timing),
    )


def _batch_size(config: EvalConfig, policy: LoadedPolicy, episodes: int) -> int:
    """As many workers as cores, and one more to step while another's looks are with the policy."""
    if not config.eval.use_async_envs:
        return 1
    automatic = usable_cores() + (1 if policy.policy.place == "host" else 0)
    return max(1, min(config.eval.batch_size or automatic, episodes, MOST_WORKERS))


@contextlib.contextmanager
def _open_pool(
    config: EvalConfig, plan: Plan, policy: LoadedPolicy, folder: RunFolder, size: int
) -> Iterator[tuple[Pool, str | None]]:
    """Workers that can render if anything will be looked at; checked before the first episode starts."""
    renders = [task for task in plan.distinct_tasks() if task.env.renderer]
    looks = any(task.env.features[name].is_image for task in renders for name in policy.policy.wants.inputs)
    local = not config.eval.use_async_envs
    pool: Pool = LocalPool() if local else ProcessPool(size, time_limit_s=config.eval.timeout_s, log=folder.worker_log)
    renderer = None
    try:
        if renders and (looks or config.eval.videos) and isinstance(pool, ProcessPool):
            renderer = pool.choose_renderer(renders[0])
        yield pool, renderer
    finally:
        pool.close()
        if folder.worker_log.exists() and not folder.worker_log.stat().st_size:
            folder.worker_log.unlink()


class _Manifest:
    """The run's manifest, kept up to date: what it is, what it runs on, how far it has come."""

    def __init__(self, folder: RunFolder, plan: Plan, setting: dict[str, Any]) -> None:
        self._folder = folder
        earlier = folder.read_manifest() if folder.manifest.exists() else {}
        self._started = time.monotonic()
        self._earlier_s = earlier.get("wall_s", 0.0)
        self._content = {
            "format": 1,
            "plan_hash": plan.hash(),
            "plan": plan.identity(),
            "n_episodes": plan.n_episodes,
            "started": earlier.get("started", _now()),
            **setting,
            **provenance(),
        }
        self._status = ""
        self.update("running")

    @property
    def wall_s(self) -> float:
        """Seconds that the run took, over all its sessions."""
        return self._earlier_s + time.monotonic() - self._started

    def update(self, status: str) -> None:
        """Write the manifest."""
        self._status = status
        write_json(
            self._folder.manifest,
            {**self._content, "status": status, "updated": _now(), "wall_s": self.wall_s},
        )

    def update_if_running(self, status: str) -> None:
        """Write the manifest unless the run has finished."""
        if self._status == "running":
            self.update(status)


def _write_config(folder: RunFolder, config: EvalConfig, policy: LoadedPolicy) -> None:
    resolved = replace(config, policy=policy.spec, output_dir=folder.path)
    text = yaml.safe_dump(config_to_data(resolved), sort_keys=False, allow_unicode=True)
    write_atomically(folder.config, lambda file: file.write(text.encode()))


def _summary(folder: RunFolder, plan: Plan, journal: Journal, wall_s: float) -> RunResult:
    episodes = plan.episodes()
    records = [journal.records[key] for key in map(plan.key, episodes) if key in journal.records]
    return summarise(folder.path, plan.tasks, records, len(episodes), wall_s)


def _write_eval_info(folder: RunFolder, run: RunResult) -> None:
    videos = {record.key: [str(path) for path in sorted(folder.videos_of(record.key))] for record in run.episodes}
    write_json(folder.eval_info, eval_info(run, videos))


def _film(config: EvalConfig, plan: Plan, journal: Journal, folder: RunFolder, listener: Listener) -> None:
    """Film the first episodes of each task, where that was not done while they ran."""
    replays = []
    for episode in plan.episodes():
        key, task = plan.key(episode), episode.task
        record = journal.records.get(key)
        if episode.index >= config.eval.videos or not task.env.replayable or not task.env.cameras:
            continue
        film, fps = film_of(task)
        path = folder.video(task.name, episode.index, film.camera)
        if record is None or record.status == "error" or path.exists():
            continue
        replays.append(Replay(episode, record, folder.load_played(key), path, film, fps))
    if not replays:
        return
    pool = ProcessPool(min(usable_cores(), len(replays)), log=folder.worker_log)
    try:
        pool.choose_renderer(replays[0].episode.task)
        listener.filming(replays)
        for result in replay_all(replays, pool, listener.filmed_frame):
            listener.filmed(result)
    finally:
        pool.close()


def _rounded(timing: dict[str, float]) -> dict[str, float]:
    return {name: round(seconds, 6) for name, seconds in timing.items()}


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
