"""Runs episodes on workers, with no barrier anywhere.

    workers (processes)            the scheduler's thread                      policies' threads
    ───────────────────            ──────────────────────                      ─────────────────
    play a chunk, look ─ Seen ───▶ pool.wait: blocks until a worker reports,
                                   a policy has answered, or a bell rings
                                   looks ─────────── Inference.submit ───────▶ infer one batch
    play the next chunk ◀── Play ─ actions ◀──────── Inference.collect ─────── ring a descriptor
    end the episode ── Finished ─▶ a result, for the caller, who writes it
    begin ◀────────── Begin, Run ─ supervisor.look, then an episode for each free place

A free worker takes the next episode at once; every look that is ready joins the next inference batch; the policy infers
while the workers step. What happens to one episode never waits for another. The scheduler starts no thread itself: each
`Inference` owns its policy's threads, the pool owns the processes.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from yardarm.engine.inference import LOOK_EVERY_S, Answer
from yardarm.engine.player import Player, Running
from yardarm.engine.queue import Job, Queue
from yardarm.envs import MemoryLayout, Pool, TaskWorkers, Worker, looks_of
from yardarm.envs.messages import Begin, Died, Failed, Finished, Play, PolicyFailed, Report, Rollout, Run, Seen, Timing
from yardarm.errors import PolicyFault
from yardarm.policies import playable
from yardarm.tasks import EpisodeSpec, EpisodeTiming, TaskSpec

__all__ = ["EpisodeResult", "Scheduler", "Supervisor"]


class Supervisor:
    """What the caller of a scheduler does while it runs. This one does nothing, and lets a fault end the run."""

    bells: Sequence[int] = ()
    """Descriptors: when one is readable, and nothing else has happened, the scheduler yields None."""

    def look(self) -> None:
        """Called repeatedly, before free places get episodes."""

    def go_on_without(self, player: int, fault: PolicyFault, running: Sequence[Job]) -> None:
        """Called when a player has failed, with its jobs that were running; raises to end the run."""
        raise fault


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """A finished episode: its rollout, or the error that it ended in."""

    job: Job
    rollout: Rollout | None
    error: str | None
    attempts: int
    timing: EpisodeTiming

    @property
    def episode(self) -> EpisodeSpec:
        """What was played."""
        return self.job.episode


class Scheduler:
    """Iterate over it to run everything; results come in the order in which episodes finish."""

    def __init__(
        self,
        queue: Queue,
        pool: Pool,
        players: Sequence[Player],
        max_retries: int,
        supervisor: Supervisor | None = None,
    ) -> None:
        self._queue = queue
        self._pool = pool
        self._players = players
        self._max_retries = max_retries
        self._supervisor = supervisor or Supervisor()
        self._running: dict[Worker, Running] = {}
        self._workers = TaskWorkers(pool)
        self._attempts: Counter[Job] = Counter()

    def __iter__(self) -> Generator[EpisodeResult | None]:
        try:
            self._assign()
            while self._running:
                thinking = [player.inference for player in self._players if player.inference and player.inference.busy]
                also = [*self._supervisor.bells, *(inference.descriptor for inference in thinking)]
                # A policy that hangs rings no bell: it must be looked at.
                reports = self._pool.wait(also, LOOK_EVERY_S if thinking else math.inf)
                if not reports:
                    yield None
                for worker, report in reports:
                    result = self._hear(worker, report)
                    if result is not None:
                        yield result
                for number in range(len(self._players)):
                    yield from self._think(number)
                self._supervisor.look()
                self._assign()
        finally:
            for player in self._players:
                player.close()

    def _assign(self) -> None:
        """Give every free place an episode."""
        for worker in self._workers.take_kept():
            if len(self._running) >= self._pool.size:  # there are fewer places than there were
                self._workers.dismiss(worker)
                continue
            begun = self._next(worker.task)
            if begun is not None and begun[0].task == worker.task.key():
                self._begin(worker, *begun)
                continue
            self._workers.dismiss(worker)
            if begun is not None:
                self._begin(self._hire(begun[0]), *begun)
        while len(self._running) < self._pool.size and (begun := self._next()) is not None:
            self._begin(self._hire(begun[0]), *begun)

    def _next(self, at_hand: TaskSpec | None = None) -> tuple[Job, Any] | None:
        """The next job, and the state that its player has made for it."""
        while (job := self._queue.take(at_hand)) is not None:
            try:
                return job, self._players[job.player].start(job.episode)
            except PolicyFault as fault:
                self._withdraw(job.player, fault, [job])
        return None

    def _withdraw(self, number: int, fault: PolicyFault, jobs: Sequence[Job] = ()) -> None:
        """Continue without a player, if the run can continue with others."""
        player = self._players[number]
        if player.withdrawn:  # another of its answers
            return
        player.withdrawn = True
        player.ready.clear()
        lost = [running for running in self._running.values() if running.job.player == number]
        for running in lost:
            del self._running[running.worker]
            self._workers.dismiss(running.worker)
            player.say_goodbye(running, None)
        self._supervisor.go_on_without(number, fault, [*jobs, *(running.job for running in lost)])

    def _hire(self, job: Job) -> Worker:
        return self._workers.take(job.episode.task, self._layout(job.episode.task))

    def _begin(self, worker: Worker, job: Job, state: Any) -> None:
        player = self._players[job.player]
        film = player.filming.begin(job.episode, worker)
        self._attempts[job] += 1
        self._running[worker] = Running(worker, job, state)
        if player.inference is None:
            worker.order(Run(job.episode, player.spec, film))
        else:
            worker.order(Begin(job.episode, player.policy.wants.inputs, film))

    def _hear(self, worker: Worker, report: Report) -> EpisodeResult | None:
        running = self._running.get(worker)
        if running is None:
            return None
        player = self._players[running.job.player]
        match report:
            case Seen():
                running.looks = looks_of(worker, report)
                player.ready.append(running)
            case Finished(rollout):
                self._workers.keep(worker)
                return self._finish(running, rollout=rollout)
            case PolicyFailed(message, trace):
                self._withdraw(running.job.player, PolicyFault(message, trace))
            case Failed(error) | Died(error):
                player.ready = [other for other in player.ready if other is not running]
                self._workers.dismiss(worker)
                if isinstance(report, Died) and report.blameless:
                    self._attempts[running.job] -= 1
                return self._give_up(running, error)
        return None

    def _give_up(self, running: Running, error: str) -> EpisodeResult | None:
        """End a failed attempt: the episode is run again, or was tried often enough."""
        if self._attempts[running.job] > self._max_retries:
            return self._finish(running, error=error)
        del self._running[running.worker]
        self._players[running.job.player].say_goodbye(running, None)
        self._queue.put_back(running.job)
        return None

    def _finish(self, running: Running, *, rollout: Rollout | None = None, error: str | None = None) -> EpisodeResult:
        del self._running[running.worker]
        self._players[running.job.player].say_goodbye(running, rollout)
        self._queue.done(running.job)
        worker_time = rollout.timing if rollout else Timing()
        timing = EpisodeTiming(
            build_s=worker_time.build_s,
            reset_s=worker_time.reset_s,
            step_s=worker_time.step_s,
            look_s=worker_time.look_s,
            infer_s=running.infer_s + worker_time.policy_s,
            wall_s=time.perf_counter() - running.started,
        )
        return EpisodeResult(running.job, rollout, error, self._attempts.pop(running.job), timing)

    def _think(self, number: int) -> Iterator[EpisodeResult]:
        """Hand all waiting looks to the policy, and its answers to their workers."""
        player = self._players[number]
        try:
            yield from self._play_answers(player)
            player.think()
            yield from self._play_answers(player)
        except PolicyFault as fault:
            self._withdraw(number, fault)

    def _play_answers(self, player: Player) -> Iterator[EpisodeResult]:
        for answer in player.answers():
            # Episodes whose worker died while the policy computed are running elsewhere by now, or not at all.
            alive = dict.fromkeys(own for own in answer.owners if self._running.get(own.worker) is own)
            if answer.lost is not None:
                yield from self._lose(alive, answer.lost)
            else:
                self._play(player, answer, alive)

    def _play(self, player: Player, answer: Answer[Running], alive: Collection[Running]) -> None:
        for running, chunk in zip(answer.owners, answer.chunks, strict=True):
            if running in alive:
                running.infer_s += answer.seconds / len(answer.owners)
                running.worker.order(Play.of(playable(chunk, player.policy.wants, running.episode.task)))

    def _lose(self, alive: Collection[Running], reason: str) -> Iterator[EpisodeResult]:
        """The connection to the policy broke in the middle of these episodes."""
        for running in alive:
            self._workers.keep(running.worker)
            result = self._give_up(running, reason)
            if result is not None:
                yield result

    def _layout(self, task: TaskSpec) -> MemoryLayout:
        """Room for what any of the players looks at, so that a worker can play for each of them."""
        # A policy in the worker reads its inputs where they are made.
        shown = [player.policy.wants for player in self._players if player.inference is not None]
        inputs = {name: task.env.features[name] for wants in shown for name in wants.inputs}
        looks = max((wants.steps for wants in shown), default=1)
        return MemoryLayout(inputs, looks, self._players[0].filming.frame_size(task))
