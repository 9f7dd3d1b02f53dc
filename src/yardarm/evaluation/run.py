"""An evaluation from its configuration to its results."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from yardarm.envs import Pool
from yardarm.errors import SetupError, UsageError
from yardarm.evaluation.config import EvalConfig
from yardarm.evaluation.conventions import odd_actions
from yardarm.evaluation.entrant import Entrant, open_entrants
from yardarm.evaluation.inference import Inference
from yardarm.evaluation.judgement import Judgement
from yardarm.evaluation.listener import Listener
from yardarm.evaluation.opponent import StoredOpponent
from yardarm.evaluation.plan import Plan
from yardarm.evaluation.player import Player
from yardarm.evaluation.preflight import check_policy_fits
from yardarm.evaluation.queue import EpisodeQueue, Job, PlannedOrderQueue, Queue
from yardarm.evaluation.runners import Runner, check_runner, check_videos, open_policy_for, open_runner
from yardarm.evaluation.scheduler import EpisodeResult, Scheduler
from yardarm.evaluation.selection import select_tasks
from yardarm.evaluation.stopping import PRECISION, Declaration
from yardarm.evaluation.videos import film_finished_episodes
from yardarm.policies import LoadedPolicy
from yardarm.results import RunFolder, RunResult
from yardarm.tasks import TaskSpec
from yardarm.tracking import Tracker, open_tracker

__all__ = ["evaluate"]

# How many jobs a worker may reach ahead of the planned order, for each worker: building a simulator costs about as much
# as playing an episode or two.
AHEAD = 4


def evaluate(config: EvalConfig, listener: Listener | None = None) -> RunResult:
    """Run what is missing of an evaluation, and return the results of all of it."""
    listener = listener or Listener()
    check_runner(config)
    tracker = open_tracker(config.wandb)
    listener.preparing("finding the tasks")
    tasks = select_tasks(config.envs, config.trust_remote_code)
    listener.preparing("loading the policy")
    with contextlib.ExitStack() as stack:
        policies = [stack.enter_context(open_policy_for(config, config.policy, tasks, config.rename_map))]
        if config.against is not None and not isinstance(config.against, Path):
            with _naming("--against"):
                policies.append(stack.enter_context(open_policy_for(config, config.against, tasks)))
                check_policy_fits(policies[1].policy, tasks)
            config = replace(config, against=policies[1].spec)
        check_policy_fits(policies[0].policy, tasks)
        return _evaluate(config, policies, tasks, listener, tracker)


@contextlib.contextmanager
def _naming(flag: str) -> Iterator[None]:
    """Say which of two policies a mistake is about."""
    try:
        yield
    except SetupError as error:
        raise SetupError(f"{flag}: {error}") from error
    except UsageError as error:
        raise UsageError(f"{flag}: {error}") from error


def _evaluate(
    config: EvalConfig,
    policies: Sequence[LoadedPolicy],
    tasks: tuple[TaskSpec, ...],
    listener: Listener,
    tracker: Tracker,
) -> RunResult:
    """Run what is missing with policies that are loaded, and fit the tasks."""
    if config.eval.videos and not any(task.env.cameras for task in tasks):
        raise UsageError(f"--eval.videos={config.eval.videos}: none of the tasks draws anything")
    check_videos(config, tasks)
    for env in config.envs:
        if not env.python:  # another interpreter's packages are tried when its workers are started
            env.check_requirements()
    plan = Plan(policies[0].id, tasks, config.eval.n_episodes, config.seed)
    opponent = None
    if isinstance(config.against, Path):
        opponent = StoredOpponent.read(config.against, plan.episodes())
        if config.eval.stop:
            opponent.check_has_all(config.against, plan.episodes())
    declared = _declaration(config, policies, plan, opponent)
    with open_entrants(config, policies, plan, declared) as entrants:
        tracker.attach(entrants[0].manifest)
        judgement = Judgement.begin(declared, entrants, opponent) if declared else None
        run = _Run(config, entrants, judgement, listener, tracker)
        try:
            run.play_missing_episodes()
            for entrant in entrants if config.eval.videos else ():
                film_finished_episodes(entrant.folder, entrant.plan, entrant.journal, config.eval, listener)
            warnings = [run.warnings(entrant) for entrant in entrants]
            for entrant, own in zip(entrants, warnings, strict=True):
                entrant.manifest.finish(own)
        finally:
            results = [run.summarise(entrant) for entrant in entrants]
            for entrant in entrants:
                entrant.manifest.close()
            for entrant, result in zip(entrants, results, strict=True):
                entrant.write_summary(result)
            tracker.finish(results[0])
    # Without early stopping, the comparison at the end says what is to be said of the other run.
    notes = opponent.run.notes if opponent and declared else ()
    return replace(
        results[0],
        warnings=(*notes, *itertools.chain(*warnings)),
        against=run.compared_with(),
        errors_of_opponent=sum(result.counts.errors for result in results[1:]),
    )


def _declaration(
    config: EvalConfig, policies: Sequence[LoadedPolicy], plan: Plan, opponent: StoredOpponent | None
) -> Declaration | None:
    """What is declared of early stopping."""
    options = config.eval
    if not options.stop:
        return None
    declared = Declaration(options.stop, options.n_episodes, options.confidence)
    if options.stop == PRECISION:
        return replace(declared, half_width=options.half_width)
    if opponent is None:
        return replace(declared, against=policies[1].id)
    return replace(declared, against=opponent.id, outcomes=opponent.digest(plan.episodes()))


@dataclass(frozen=True, slots=True)
class _Run:
    """All that belongs to a run while it goes on."""

    config: EvalConfig
    entrants: Sequence[Entrant]
    judgement: Judgement | None
    listener: Listener
    tracker: Tracker

    @property
    def folder(self) -> RunFolder:
        return self.entrants[0].folder

    def play_missing_episodes(self) -> None:
        jobs = self._missing()
        if self.judgement is not None:
            self.judgement.note()
        if not jobs:
            self._begin(0, 0)
            return
        policies = [entrant.policy for entrant in self.entrants]
        self.listener.preparing("trying the policy")
        tasks = list({job.task: job.episode.task for job in jobs}.values())
        with open_runner(self.config, policies, tasks) as runner:
            inference = [entrant.fix_batching(runner) for entrant in self.entrants]
            self.listener.preparing("starting simulators")
            with runner.open_pool(self.folder, len(jobs)) as (pool, setting):
                for entrant, own in zip(self.entrants, inference, strict=True):
                    entrant.begin_session({"batch_size": pool.size, **setting, "inference": own})
                self._begin(len(jobs), pool.size)
                self._play(jobs, pool, runner)

    def _begin(self, missing: int, workers: int) -> None:
        self.listener.started(self.folder.path, [entrant.plan for entrant in self.entrants], missing, workers)
        self.tracker.begin(self.entrants[0].journal.records.values())

    def _play(self, jobs: Sequence[Job], pool: Pool, runner: Runner) -> None:
        """Play until all is played, or enough of it."""
        players = self._players(runner)
        scheduler = Scheduler(self._queue(jobs, pool.size), pool, players, self.config.eval.max_retries)
        with contextlib.closing(iter(scheduler)) as results:
            for result in results:  # in the order in which episodes finish
                self._keep(result)
                if self.judgement is not None and self.judgement.referee.decision is not None:
                    break

    def _players(self, runner: Runner) -> list[Player]:
        # Shared by policies that compute in this process: torch's threads are the process's.
        turn = threading.Lock() if len(self.entrants) > 1 else None
        return [
            Player(
                entrant.policy,
                entrant.filming,
                Inference(entrant.policy.policy, turn) if runner.infers_here(entrant.policy) else None,
                entrant.policy.id if turn else "",
            )
            for entrant in self.entrants
        ]

    def _keep(self, result: EpisodeResult) -> None:
        side = result.job.player
        place = self.judgement.referee.place(result.episode) if self.judgement else None
        record = self.entrants[side].keep(result, place)
        if self.judgement is not None and self.judgement.hear(side, result.job, record):
            self.listener.judged(self.judgement.state())
        if side == 0:
            self.tracker.count(record)
        self.listener.finished(record)

    def _missing(self) -> list[Job]:
        """What is still to play: in the planned order, or task by task."""
        if self.judgement is not None:
            return self.judgement.missing()
        finished = [entrant.journal.finished() for entrant in self.entrants]
        return [
            Job(episode, side)
            for episode in self.entrants[0].plan.episodes()
            for side, entrant in enumerate(self.entrants)
            if entrant.plan.key(episode) not in finished[side]
        ]

    def _queue(self, jobs: Sequence[Job], workers: int) -> Queue:
        # The strictest of the benchmarks' limits; 0 if there is none.
        limit = min((env.max_parallel_tasks for env in self.config.envs if env.max_parallel_tasks), default=0)
        if self.judgement is not None:
            return PlannedOrderQueue(jobs, AHEAD * workers, limit)
        return EpisodeQueue(jobs, limit)

    def warnings(self, entrant: Entrant) -> tuple[str, ...]:
        """What to tell of a policy that may have another convention than its environment's."""
        if getattr(entrant.policy.policy, "scripted", False):
            return ()
        odd = odd_actions(self.summarise(entrant), entrant.folder)
        return odd if len(self.entrants) == 1 else tuple(f"{entrant.policy.id}: {warning}" for warning in odd)

    def summarise(self, entrant: Entrant) -> RunResult:
        """The results of a policy so far."""
        if self.judgement is None:
            return entrant.summarise(None)
        played = sum(entrant.played() for entrant in self.entrants)
        return entrant.summarise({**self.judgement.state(), "played": played})

    def compared_with(self) -> Path | None:
        """The run that holds the other side's results."""
        if len(self.entrants) > 1:
            return self.entrants[1].folder.path
        return self.config.against if isinstance(self.config.against, Path) else None
