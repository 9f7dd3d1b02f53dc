"""Plays what is missing of an evaluation, and keeps every episode as it finishes."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from yardarm.engine import (
    EpisodeQueue,
    EpisodeResult,
    Inference,
    Job,
    LineupQueue,
    Patience,
    PlannedOrderQueue,
    Player,
    Queue,
    Runner,
    Scheduler,
    Supervisor,
    Tuner,
    TuningChoice,
    Turn,
    batching_text,
    tuner_for,
)
from yardarm.envs import Pool
from yardarm.errors import PolicyFault
from yardarm.evaluation.config import EvalConfig
from yardarm.evaluation.conventions import odd_actions
from yardarm.evaluation.entrant import Entrant
from yardarm.evaluation.listener import Listener
from yardarm.evaluation.runners import open_runner
from yardarm.evaluation.software import software_for
from yardarm.evaluation.stopping.judgement import Judgement
from yardarm.evaluation.videos import film_finished_episodes
from yardarm.results import EpisodeRecord, Keeper, RunFolder, RunResult
from yardarm.tracking import Tracker

__all__ = ["Session"]

# How many jobs a worker may reach ahead of the planned order, for each worker: building a simulator costs about as much
# as playing an episode or two.
AHEAD = 4


@dataclass(frozen=True, slots=True)
class Session:
    """All that belongs to an evaluation while it goes on."""

    config: EvalConfig
    folder: RunFolder
    entrants: Sequence[Entrant]
    listener: Listener
    tracker: Tracker | None = None
    judgement: Judgement | None = None
    at_once: int = 0
    """How many of the entrants play at the same time; 0: all."""
    faults: dict[int, PolicyFault] = field(default_factory=dict)
    """Who of several entrants could not go on, and why."""

    def play_missing_episodes(self) -> None:
        """Play until nothing is missing, or enough is known."""
        for entrant in self.entrants:
            if entrant.crashed:
                self.listener.resumed_after_crash(entrant.folder.path, entrant.played())
        jobs = self._missing()
        if self.judgement is not None:
            self.judgement.note()
        if not jobs:
            for entrant in self.entrants:
                entrant.begin_if_new()
            self._begin(0, 0)
            return
        playing = self._playing(jobs)
        tasks = list({job.task: job.episode.task for job in jobs}.values())
        software = software_for(tasks)
        for entrant in playing:
            entrant.check_software(software)
        self.listener.preparing("trying the policy")
        with open_runner(self.config, [entrant.policy for entrant in playing], tasks, software) as runner:
            inference = [entrant.fix_batching(runner) for entrant in playing]
            self.listener.preparing("starting simulators")
            with runner.open_pool(self.folder.worker_log, len(jobs)) as (pool, setting):
                tuning = {"pinned": bool(self.config.eval.batch_size), "began_with": pool.size, "choices": []}
                for entrant, own in zip(playing, inference, strict=True):
                    started = {"batch_size": pool.size, **setting, "tuning": tuning, "inference": own}
                    entrant.begin_session({**software, **started})
                self._begin(len(jobs), pool.size)
                for text in dict.fromkeys(batching_text(own) for own in inference if own):
                    self.listener.tuned(text)
                self._play(jobs, pool, runner)

    def film(self) -> None:
        """Make the videos that were asked for."""
        for entrant in self.entrants if self.config.eval.videos else ():
            film_finished_episodes(entrant.folder, entrant.plan, entrant.journal, self.config.eval, self.listener)

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

    def _begin(self, missing: int, workers: int) -> None:
        self.listener.started(self.folder.path, [entrant.plan for entrant in self.entrants], missing, workers)
        if self.tracker is not None:
            self.tracker.begin(self.entrants[0].journal.records.values())

    def _players(self, runner: Runner) -> list[Player]:
        turn = Turn() if len(self.entrants) > 1 else None
        return [
            Player(
                entrant.policy,
                entrant.filming,
                Inference(entrant.policy.policy, self._patience(entrant), turn)
                if runner.infers_here(entrant.policy)
                else None,
            )
            for entrant in self.entrants
        ]

    def _patience(self, entrant: Entrant) -> Patience:
        """The time limit of workers is the policy's, too, unless it sees to that itself."""
        own = getattr(entrant.policy.policy, "own_time_limits", False)
        limit_s = math.inf if own else self.config.eval.timeout_s
        return Patience(entrant.policy.id, limit_s, self.listener.computing)

    def _play(self, jobs: Sequence[Job], pool: Pool, runner: Runner) -> None:
        """Play until all is played, or enough of it."""
        players = self._players(runner)
        queue = self._queue(jobs, players, pool.size)
        tuner = None if self.config.eval.batch_size else tuner_for(pool, players, len(jobs), partial(self._tuned, jobs))
        with self._keeper() as keeper:
            supervisor = _Supervisor(self, queue, keeper, tuner)
            scheduler = Scheduler(queue, pool, players, self.config.eval.max_retries, supervisor)
            with contextlib.closing(iter(scheduler)) as results:
                for result in results:  # in the order in which episodes finish
                    if result is not None:
                        supervisor.take(result)
                    for kept in keeper.collect():
                        self._count(kept.owner, kept.record)
                    if self.judgement is not None and self.judgement.referee.decision is not None:
                        break

    def _playing(self, jobs: Sequence[Job]) -> list[Entrant]:
        """Those who have anything left to play."""
        return [self.entrants[side] for side in dict.fromkeys(job.player for job in jobs)]

    def _tuned(self, jobs: Sequence[Job], choice: TuningChoice) -> None:
        for entrant in self._playing(jobs):
            entrant.manifest.note_tuning(choice.to_json())
        self.listener.tuned(choice.text)

    @contextlib.contextmanager
    def _keeper(self) -> Iterator[Keeper]:
        """What has finished is kept, and counted, however the session ends."""
        keeper = Keeper()
        try:
            yield keeper
        finally:
            for kept in keeper.close():
                self._count(kept.owner, kept.record)
            keeper.check()

    def _count(self, job: Job, record: EpisodeRecord) -> None:
        """An episode is on the disk: it counts from now on."""
        entrant = self.entrants[job.player]
        entrant.keep_current()
        if self.judgement is not None and self.judgement.hear(job.player, job, record):
            self.listener.judged(self.judgement.state())
        if self.tracker is not None and job.player == 0:
            self.tracker.count(record)
        self.listener.finished(record)

    def _missing(self) -> list[Job]:
        """What is still to play: in the planned order, or task by task, the entrants in turn."""
        if self.judgement is not None:
            return self.judgement.missing()
        missing = [entrant.plan.missing(entrant.journal.finished()) for entrant in self.entrants]
        return [
            Job(episode, side)
            for row in itertools.zip_longest(*missing)
            for side, episode in enumerate(row)
            if episode is not None
        ]

    def _queue(self, jobs: Sequence[Job], players: Sequence[Player], workers: int) -> Queue:
        # The strictest of the benchmarks' limits; 0 if there is none.
        limit = min((env.max_parallel_tasks for env in self.config.envs if env.max_parallel_tasks), default=0)
        if self.judgement is not None:
            return PlannedOrderQueue(jobs, AHEAD * workers, limit)
        if not self.at_once:
            return EpisodeQueue(jobs, limit)
        return LineupQueue(jobs, self.at_once, limit, on_leave=lambda side: players[side].leave())


class _Supervisor(Supervisor):
    """Has finished episodes kept, the number of workers fitted, and goes on without one of many that fails."""

    def __init__(self, session: Session, queue: Queue, keeper: Keeper, tuner: Tuner | None) -> None:
        self.bells = [keeper.descriptor]
        self._session = session
        self._queue = queue
        self._keeper = keeper
        self._tuner = tuner

    def take(self, result: EpisodeResult) -> None:
        """Have an episode kept."""
        judgement = self._session.judgement
        place = judgement.referee.place(result.episode) if judgement else None
        self._keeper.put(self._session.entrants[result.job.player].ended(result, place))
        if self._tuner is not None:
            self._tuner.count(result.timing)

    def look(self) -> None:
        """See whether another number of workers would be better."""
        if self._tuner is not None:
            self._tuner.look()

    def go_on_without(self, player: int, fault: PolicyFault, running: Sequence[Job]) -> None:
        """One of a lineup goes, and the others play on."""
        entrants = self._session.entrants
        entrants[player].note_fault(fault)
        if not isinstance(self._queue, LineupQueue):
            named = fault if len(entrants) == 1 else PolicyFault(f"{entrants[player].policy.id}: {fault}", fault.trace)
            raise named from fault.__cause__
        self._session.faults[player] = fault
        self._queue.withdraw(player, running)
        self._session.listener.withdrawn(entrants[player].policy.id, fault)
