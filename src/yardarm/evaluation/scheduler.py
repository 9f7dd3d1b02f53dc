"""Runs episodes on workers, with no barrier anywhere.

A free worker takes the next episode at once; every look that is ready joins the next inference batch; the
policy infers while the workers step. What happens to one episode never waits for another.
"""

from __future__ import annotations

import time
import traceback
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from yardarm.envs import MemoryLayout, Pool, Worker
from yardarm.envs.messages import Begin, Died, Failed, Finished, Play, Report, Rollout, Run, Seen, Timing
from yardarm.errors import PolicyFault
from yardarm.evaluation.filming import Filming
from yardarm.evaluation.inference import Answer, Inference
from yardarm.evaluation.queue import EpisodeQueue
from yardarm.policies import LoadedPolicy, Look, Outcome, Request, playable
from yardarm.results import EpisodeTiming
from yardarm.tasks import EpisodeSpec, TaskSpec

__all__ = ["EpisodeResult", "Scheduler"]


@dataclass(frozen=True, slots=True)
class EpisodeResult:
    """An episode that needs no more work: its rollout, or the error that it ended in."""

    episode: EpisodeSpec
    rollout: Rollout | None
    error: str | None
    attempts: int
    timing: EpisodeTiming


@dataclass(slots=True, eq=False)
class Running:
    """An episode on a worker."""

    worker: Worker
    episode: EpisodeSpec
    state: Any
    started: float = field(default_factory=time.perf_counter)
    infer_s: float = 0.0
    looks: Sequence[Look] = ()


class Scheduler:
    """Iterate over it to run everything; results come in the order in which episodes finish."""

    def __init__(
        self,
        queue: EpisodeQueue,
        pool: Pool,
        policy: LoadedPolicy,
        filming: Filming,
        max_retries: int,
    ) -> None:
        self._queue = queue
        self._pool = pool
        self._policy = policy.policy
        self._spec = policy.spec
        self._filming = filming
        self._max_retries = max_retries
        self._inference = Inference[Running](self._policy) if self._policy.place == "host" else None
        self._running: dict[Worker, Running] = {}
        self._idle: list[Worker] = []
        self._ready: list[Running] = []
        self._attempts: Counter[tuple[str | int, ...]] = Counter()

    def __iter__(self) -> Generator[EpisodeResult]:
        try:
            self._assign()
            while self._running:
                also = [self._inference.descriptor] if self._inference and self._inference.busy else []
                for worker, report in self._pool.wait(also=also):
                    result = self._hear(worker, report)
                    if result is not None:
                        yield result
                yield from self._think()
                self._assign()
        finally:
            if self._inference is not None:
                self._inference.close()

    def _assign(self) -> None:
        """Give every free place an episode."""
        idle, self._idle = self._idle, []
        for worker in idle:
            episode = self._queue.take(worker.task)
            if episode is not None and episode.task.key() == worker.task.key():
                self._begin(worker, episode)
                continue
            self._pool.dismiss(worker)
            if episode is not None:
                self._begin(self._pool.hire(episode.task, self._layout(episode.task)), episode)
        while len(self._running) < self._pool.size and (episode := self._queue.take()) is not None:
            self._begin(self._pool.hire(episode.task, self._layout(episode.task)), episode)

    def _begin(self, worker: Worker, episode: EpisodeSpec) -> None:
        film = self._filming.begin(episode, worker)
        self._attempts[episode.key()] += 1
        if self._inference is None:
            self._running[worker] = Running(worker, episode, None)
            worker.order(Run(episode, self._spec, film))
        else:
            self._running[worker] = Running(worker, episode, self._start(episode))
            worker.order(Begin(episode, self._policy.wants.inputs, film))

    def _hear(self, worker: Worker, report: Report) -> EpisodeResult | None:
        running = self._running.get(worker)
        if running is None:
            return None
        match report:
            case Seen(looks):
                running.looks = [
                    Look(step, {name: slot[name] for name in names})
                    for slot, (step, names) in zip(worker.looks, looks, strict=False)
                ]
                self._ready.append(running)
            case Finished(rollout):
                self._free(worker)
                return self._finish(running, rollout=rollout)
            case Failed(error, by_policy=True):
                raise PolicyFault(f"the policy raised in a worker:\n{error}")
            case Failed(error) | Died(error):
                self._ready = [other for other in self._ready if other is not running]
                self._pool.dismiss(worker)
                return self._give_up(running, error)
        return None

    def _free(self, worker: Worker) -> None:
        """Let a worker go on to another episode, if it may have several."""
        if worker.task.env.lives_once:
            self._pool.dismiss(worker)
        else:
            self._idle.append(worker)

    def _give_up(self, running: Running, error: str) -> EpisodeResult | None:
        """End an attempt that came to nothing: the episode is run again, or was run often enough."""
        if self._attempts[running.episode.key()] > self._max_retries:
            return self._finish(running, error=error)
        del self._running[running.worker]
        self._say_goodbye(running, None)
        self._queue.put_back(running.episode)
        return None

    def _finish(self, running: Running, *, rollout: Rollout | None = None, error: str | None = None) -> EpisodeResult:
        del self._running[running.worker]
        self._say_goodbye(running, rollout)
        self._queue.done(running.episode)
        worker_time = rollout.timing if rollout else Timing()
        timing = EpisodeTiming(
            build_s=worker_time.build_s,
            reset_s=worker_time.reset_s,
            step_s=worker_time.step_s,
            look_s=worker_time.look_s,
            infer_s=running.infer_s + worker_time.policy_s,
            wall_s=time.perf_counter() - running.started,
        )
        attempts = self._attempts.pop(running.episode.key())
        return EpisodeResult(running.episode, rollout, error, attempts, timing)

    def _think(self) -> Iterator[EpisodeResult]:
        """Hand all waiting looks to the policy, and its answers to their workers."""
        if self._inference is None:
            return
        yield from self._play_answers(self._inference)
        while count := self._inference.room(len(self._ready)):
            asked, self._ready = self._ready[:count], self._ready[count:]
            self._inference.submit(asked, [self._request(running) for running in asked])
        yield from self._play_answers(self._inference)

    def _play_answers(self, inference: Inference[Running]) -> Iterator[EpisodeResult]:
        for answer in inference.collect():
            # Those whose worker died while the policy was thinking are running elsewhere by now, or not at all.
            alive = [running for running in answer.owners if self._running.get(running.worker) is running]
            if answer.lost is not None:
                yield from self._lose(alive, answer.lost)
            else:
                self._play(answer, alive)

    def _play(self, answer: Answer[Running], alive: Sequence[Running]) -> None:
        for running, chunk in zip(answer.owners, answer.chunks, strict=True):
            if running in alive:
                running.infer_s += answer.seconds / len(answer.owners)
                running.worker.order(Play.of(playable(chunk, self._policy.wants, running.episode.task)))

    def _lose(self, alive: Sequence[Running], reason: str) -> Iterator[EpisodeResult]:
        """The way to the policy broke in the middle of these episodes."""
        for running in alive:
            self._free(running.worker)
            result = self._give_up(running, reason)
            if result is not None:
                yield result

    def _say_goodbye(self, running: Running, rollout: Rollout | None) -> None:
        """Tell a policy that wants to know that an episode is over."""
        finish = getattr(self._policy, "finish", None)
        if finish is None or self._inference is None:
            return
        seconds = time.perf_counter() - running.started
        finish(running.state, Outcome(rollout.success, len(rollout.rewards), seconds) if rollout else None)

    def _start(self, episode: EpisodeSpec) -> Any:
        try:
            return self._policy.start(episode)
        except Exception as error:
            raise PolicyFault(f"the policy raised at the start of an episode:\n{traceback.format_exc()}") from error

    def _request(self, running: Running) -> Request:
        return Request(running.episode, running.state, running.looks)

    def _layout(self, task: TaskSpec) -> MemoryLayout:
        wants = self._policy.wants
        # A policy in the worker reads its inputs where they are made.
        shared = wants.inputs if self._policy.place == "host" else ()
        inputs = {name: task.env.features[name] for name in shared}
        return MemoryLayout(inputs, wants.steps, self._filming.frame_size(task))
