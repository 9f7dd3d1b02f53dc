"""Plays what is missing of an evaluation, and keeps every episode as it finishes."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from yardarm.engine import (
    ComputeTurn,
    EpisodeQueue,
    EpisodeResult,
    Inference,
    Job,
    LineupQueue,
    PlannedOrderQueue,
    Player,
    Queue,
    Runner,
    Scheduler,
    Supervisor,
    TimeLimit,
    Tuner,
    TuningChoice,
    batching_text,
    tuner_for,
)
from yardarm.envs import Pool
from yardarm.errors import PolicyFault
from yardarm.evaluation.config import EvalConfig
from yardarm.evaluation.contestant import Contestant
from yardarm.evaluation.conventions import odd_actions
from yardarm.evaluation.listener import EvaluationListener
from yardarm.evaluation.runners import open_runner
from yardarm.evaluation.software import session_for
from yardarm.evaluation.stopping.early_stopping import EarlyStopping
from yardarm.evaluation.videos import film_finished_episodes
from yardarm.results import (
    EpisodeRecord,
    EpisodeWriter,
    RunFolder,
    RunnerRecord,
    RunResult,
    TuningChoiceRecord,
    TuningRecord,
    now,
)
from yardarm.tracking import Tracker

__all__ = ["Session"]

# How many jobs a worker may reach ahead of the planned order, for each worker: building a simulator costs about as much
# as playing an episode or two.
AHEAD = 4


@dataclass(frozen=True, slots=True)
class Session:
    """All that belongs to an evaluation while it runs."""

    config: EvalConfig
    folder: RunFolder
    contestants: Sequence[Contestant]
    listener: EvaluationListener
    tracker: Tracker | None = None
    early_stopping: EarlyStopping | None = None
    at_once: int = 0
    """How many of the contestants play at the same time; 0: all."""
    faults: dict[int, PolicyFault] = field(default_factory=dict)
    """Which of several contestants failed, and why."""

    def play_missing_episodes(self) -> None:
        """Play until nothing is missing, or enough is known."""
        for contestant in self.contestants:
            if contestant.crashed:
                self.listener.resumed_after_crash(contestant.folder.path, contestant.played())
        jobs = self._missing()
        if self.early_stopping is not None:
            self.early_stopping.note()
        if not jobs:
            for contestant in self.contestants:
                contestant.begin_if_new()
            self._begin(0, 0)
            return
        playing = self._playing(jobs)
        tasks = list({job.task: job.episode.task for job in jobs}.values())
        session = session_for(tasks)
        for contestant in playing:
            contestant.check_software(session)
        self.listener.preparing("trying the policy")
        policies = [contestant.policy for contestant in playing]
        with open_runner(self.config, policies, tasks, session.other_interpreters) as runner:
            batching = [contestant.fix_batching(runner) for contestant in playing]
            self.listener.preparing("starting simulators")
            with runner.open_pool(self.folder.worker_log, len(jobs)) as (pool, setting):
                session = replace(
                    session,
                    batch_size=pool.size,
                    renderer=setting.renderer,
                    runner=RunnerRecord.from_json(setting.runner),
                    tuning=TuningRecord(pinned=bool(self.config.eval.batch_size), began_with=pool.size),
                )
                for contestant, own in zip(playing, batching, strict=True):
                    contestant.begin_session(session, own)
                self._begin(len(jobs), pool.size)
                for text in dict.fromkeys(batching_text(own) for own in batching if own):
                    self.listener.tuned(text)
                self._play(jobs, pool, runner)

    def film(self) -> None:
        """Make the videos that were asked for."""
        for contestant in self.contestants if self.config.eval.videos else ():
            film_finished_episodes(
                contestant.folder, contestant.plan, contestant.journal, self.config.eval, self.listener
            )

    def warnings(self, contestant: Contestant) -> tuple[str, ...]:
        """Warnings about a policy that may have another convention than its environment."""
        if contestant.policy.traits.scripted:
            return ()
        odd = odd_actions(self.summarise(contestant), contestant.folder)
        return odd if len(self.contestants) == 1 else tuple(f"{contestant.policy.id}: {warning}" for warning in odd)

    def summarise(self, contestant: Contestant) -> RunResult:
        """The results of a policy so far."""
        if self.early_stopping is None:
            return contestant.summarise(None)
        played = sum(contestant.played() for contestant in self.contestants)
        return contestant.summarise(replace(self.early_stopping.state(), played=played))

    def _begin(self, missing: int, workers: int) -> None:
        finished = [record for contestant in self.contestants for record in contestant.finished()]
        if finished:
            self.listener.resumed(finished)
        self.listener.started(self.folder.path, [contestant.plan for contestant in self.contestants], missing, workers)
        if self.tracker is not None:
            self.tracker.begin(self.contestants[0].journal.records.values())

    def _players(self, runner: Runner) -> list[Player]:
        turn = ComputeTurn() if len(self.contestants) > 1 else None
        return [
            Player(
                contestant.policy,
                contestant.filming,
                Inference(contestant.policy, self._time_limit(contestant), turn)
                if runner.infers_here(contestant.policy)
                else None,
            )
            for contestant in self.contestants
        ]

    def _time_limit(self, contestant: Contestant) -> TimeLimit:
        """The time limit of workers holds for the policy, too, unless it has its own."""
        limit_s = math.inf if contestant.policy.traits.own_time_limits else self.config.eval.timeout_s
        return TimeLimit(contestant.policy.id, limit_s, self.listener.computing)

    def _play(self, jobs: Sequence[Job], pool: Pool, runner: Runner) -> None:
        """Play until all is played, or enough of it."""
        players = self._players(runner)
        queue = self._queue(jobs, players, pool.size)
        tuner = None if self.config.eval.batch_size else tuner_for(pool, players, len(jobs), partial(self._tuned, jobs))
        with self._writer() as writer:
            supervisor = _Supervisor(self, queue, writer, tuner)
            scheduler = Scheduler(queue, pool, players, self.config.eval.max_retries, supervisor)
            with contextlib.closing(iter(scheduler)) as results:
                for result in results:  # in the order in which episodes finish
                    if result is not None:
                        supervisor.take(result)
                    for kept in writer.collect():
                        self._count(kept.owner, kept.record)
                    if self.early_stopping is not None and self.early_stopping.referee.decision is not None:
                        break

    def _playing(self, jobs: Sequence[Job]) -> list[Contestant]:
        """Those with episodes left to play."""
        return [self.contestants[player] for player in dict.fromkeys(job.player for job in jobs)]

    def _tuned(self, jobs: Sequence[Job], choice: TuningChoice) -> None:
        record = replace(TuningChoiceRecord.from_json(choice.to_json()), at=now())
        for contestant in self._playing(jobs):
            contestant.manifest.note_tuning(record)
        self.listener.tuned(choice.text)

    @contextlib.contextmanager
    def _writer(self) -> Iterator[EpisodeWriter]:
        """Finished episodes are stored, and counted, however the session ends."""
        writer = EpisodeWriter()
        try:
            yield writer
        finally:
            for kept in writer.close():
                self._count(kept.owner, kept.record)
            writer.check()

    def _count(self, job: Job, record: EpisodeRecord) -> None:
        """An episode is on the disk: it counts from now on."""
        contestant = self.contestants[job.player]
        contestant.keep_current()
        if self.early_stopping is not None and self.early_stopping.hear(job.player, job, record):
            self.listener.judged(self.early_stopping.state())
        if self.tracker is not None and job.player == 0:
            self.tracker.count(record)
        self.listener.finished(record)

    def _missing(self) -> list[Job]:
        """What is still to play: in the planned order, or task by task, the contestants in turn."""
        if self.early_stopping is not None:
            return self.early_stopping.missing()
        missing = [contestant.plan.missing(contestant.journal.finished()) for contestant in self.contestants]
        return [
            Job(episode, player)
            for row in itertools.zip_longest(*missing)
            for player, episode in enumerate(row)
            if episode is not None
        ]

    def _queue(self, jobs: Sequence[Job], players: Sequence[Player], workers: int) -> Queue:
        # The strictest of the benchmarks' limits; 0 if there is none.
        limit = min((env.max_parallel_tasks for env in self.config.envs if env.max_parallel_tasks), default=0)
        if self.early_stopping is not None:
            return PlannedOrderQueue(jobs, AHEAD * workers, limit)
        if not self.at_once:
            return EpisodeQueue(jobs, limit)
        return LineupQueue(jobs, self.at_once, limit, on_leave=lambda player: players[player].leave())


class _Supervisor(Supervisor):
    """Stores finished episodes, fits the number of workers, and continues when one of many policies fails."""

    def __init__(self, session: Session, queue: Queue, writer: EpisodeWriter, tuner: Tuner | None) -> None:
        self.bells = [writer.descriptor]
        self._session = session
        self._queue = queue
        self._writer = writer
        self._tuner = tuner

    def take(self, result: EpisodeResult) -> None:
        """Have an episode stored."""
        early_stopping = self._session.early_stopping
        place = early_stopping.referee.place(result.episode) if early_stopping else None
        self._writer.put(self._session.contestants[result.job.player].ended(result, place))
        if self._tuner is not None:
            self._tuner.count(result.timing)

    def look(self) -> None:
        """See whether another number of workers would be better."""
        if self._tuner is not None:
            self._tuner.look()

    def go_on_without(self, player: int, fault: PolicyFault, running: Sequence[Job]) -> None:
        """One of a lineup has failed; the others continue."""
        contestants = self._session.contestants
        contestants[player].note_fault(fault)
        if not isinstance(self._queue, LineupQueue):
            named = (
                fault
                if len(contestants) == 1
                else PolicyFault(f"{contestants[player].policy.id}: {fault}", fault.trace)
            )
            raise named from fault.__cause__
        self._session.faults[player] = fault
        self._queue.withdraw(player, running)
        self._session.listener.withdrawn(contestants[player].policy.id, fault)
