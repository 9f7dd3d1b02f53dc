"""Which episode a free worker gets next."""

from __future__ import annotations

import bisect
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from yardarm.tasks import EpisodeSpec, TaskSpec

__all__ = ["EpisodeQueue", "Job", "LineupQueue", "PlannedOrderQueue", "Queue"]

TaskKey = tuple[str, str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """An episode, and the player that plays it. Equal jobs are the same object."""

    episode: EpisodeSpec
    player: int = 0

    @property
    def task(self) -> TaskKey:
        """The task whose simulator a worker needs to run it."""
        return self.episode.task.key()


class Queue(Protocol):
    """Hands out jobs, and takes failed ones back."""

    def take(self, at_hand: TaskSpec | None = None) -> Job | None:
        """The next job for a worker that has this task's simulator at hand; None if there is none for it."""

    def done(self, job: Job) -> None:
        """The job is not running any more."""

    def put_back(self, job: Job) -> None:
        """Run the job again, before others."""


class EpisodeQueue:
    """One queue over all tasks, in which a worker keeps its task, and so its simulator, if that costs nothing."""

    def __init__(self, jobs: Iterable[Job], max_parallel_tasks: int = 0) -> None:
        self._waiting: dict[TaskKey, deque[Job]] = {}
        self._running: Counter[TaskKey] = Counter()
        for job in jobs:
            self._waiting.setdefault(job.task, deque()).append(job)
        self._max_parallel_tasks = max_parallel_tasks or max(1, len(self._waiting))

    def take(self, at_hand: TaskSpec | None = None) -> Job | None:
        """The next of the task at hand, of an untouched task, or of the one with most left."""
        task = self._choose(at_hand.key() if at_hand else None)
        if task is None:
            return None
        self._running[task] += 1
        return self._waiting[task].popleft()

    def done(self, job: Job) -> None:
        """The job is not running any more."""
        _leave(self._running, job.task)

    def put_back(self, job: Job) -> None:
        """Run the job again, before the others of its task."""
        self.done(job)
        self._waiting[job.task].appendleft(job)

    def _choose(self, at_hand: TaskKey | None) -> TaskKey | None:
        full = len(self._running) >= self._max_parallel_tasks
        if at_hand is not None and self._waiting.get(at_hand) and (at_hand in self._running or not full):
            return at_hand  # nearly always, so the other tasks need not be looked at
        waiting = [task for task, jobs in self._waiting.items() if jobs and (task in self._running or not full)]
        untouched = [task for task in waiting if task not in self._running]
        if untouched:
            return untouched[0]
        # Help where most is left: a second simulator of a task with one episode left would be wasted.
        return max(waiting, key=lambda task: len(self._waiting[task]), default=None)


class PlannedOrderQueue:
    """Keeps to the planned order, except that a worker may reach a few places ahead to stay with its task.

    A run that may stop early plays in a random order of tasks, and building a simulator takes time. What finishes ahead
    of its turn is wasted if the run stops first.
    """

    def __init__(self, jobs: Iterable[Job], ahead: int, max_parallel_tasks: int = 0) -> None:
        self._waiting = list(jobs)
        self._places = {job: place for place, job in enumerate(self._waiting)}
        self._running: Counter[TaskKey] = Counter()
        self._ahead = max(1, ahead)
        self._max_parallel_tasks = max_parallel_tasks or max(1, len(self._waiting))

    def take(self, at_hand: TaskSpec | None = None) -> Job | None:
        """The first job of the task at hand among the next few; else the first of all."""
        next_few = self._waiting[: self._ahead]
        if len(self._running) >= self._max_parallel_tasks:
            next_few = [job for job in next_few if job.task in self._running]
        if not next_few:
            return None
        own = [job for job in next_few if at_hand is not None and job.task == at_hand.key()]
        job = (own or next_few)[0]
        self._waiting.remove(job)
        self._running[job.task] += 1
        return job

    def done(self, job: Job) -> None:
        """The job is not running any more."""
        _leave(self._running, job.task)

    def put_back(self, job: Job) -> None:
        """Run the job again, at its place: everything after it waits for its outcome."""
        self.done(job)
        bisect.insort(self._waiting, job, key=self._places.__getitem__)


class LineupQueue:
    """For many players: a few play at once; the next one comes in when one has played everything and leaves.

    A worker keeps its task, and so its simulator, from player to player; it takes another task only when all players
    who are in have played this one.
    """

    def __init__(
        self,
        jobs: Iterable[Job],
        at_once: int,
        max_parallel_tasks: int = 0,
        on_leave: Callable[[int], None] = lambda player: None,
    ) -> None:
        self._waiting: dict[int, dict[TaskKey, deque[Job]]] = {}
        self._unfinished: Counter[int] = Counter()
        for job in jobs:
            self._waiting.setdefault(job.player, {}).setdefault(job.task, deque()).append(job)
            self._unfinished[job.player] += 1
        tasks = {task for own in self._waiting.values() for task in own}
        self._outside = deque(self._waiting)
        self._playing: list[int] = []
        self._at_once = max(1, at_once)
        self._running: Counter[TaskKey] = Counter()
        self._max_parallel_tasks = max_parallel_tasks or max(1, len(tasks))
        self._on_leave = on_leave

    def take(self, at_hand: TaskSpec | None = None) -> Job | None:
        """The next job of the task at hand, of the player who came in first or can come in; else of another task."""
        task = at_hand.key() if at_hand else None
        chosen = self._find(task or self._other_task())
        while chosen is None and len(self._playing) < self._at_once and self._outside:
            self._playing.append(self._outside.popleft())
            chosen = self._find(task or self._other_task())
        chosen = chosen or self._find(self._other_task())
        if chosen is not None:
            self._running[chosen.task] += 1
        return chosen

    def done(self, job: Job) -> None:
        """The job is not running any more; its player leaves with its last one."""
        _leave(self._running, job.task)
        self._unfinished[job.player] -= 1
        if not self._unfinished[job.player]:
            self._leave(job.player)

    def put_back(self, job: Job) -> None:
        """Run the job again, before the others of its player and task."""
        _leave(self._running, job.task)
        self._waiting[job.player].setdefault(job.task, deque()).appendleft(job)

    def withdraw(self, player: int, running: Iterable[Job]) -> None:
        """Give up all remaining jobs of a player, including those that are running."""
        for job in running:
            _leave(self._running, job.task)
        self._waiting[player].clear()
        self._leave(player)

    def _leave(self, player: int) -> None:
        self._playing = [other for other in self._playing if other != player]
        self._on_leave(player)

    def _find(self, task: TaskKey | None) -> Job | None:
        """The next job of a task, of the player that came in first."""
        if task is None or (len(self._running) >= self._max_parallel_tasks and task not in self._running):
            return None
        for player in self._playing:
            if jobs := self._waiting[player].get(task):
                return jobs.popleft()
        return None

    def _other_task(self) -> TaskKey | None:
        """A task that no worker plays now, or the one with most left."""
        left: Counter[TaskKey] = Counter()
        for player in self._playing:
            left.update({task: len(jobs) for task, jobs in self._waiting[player].items() if jobs})
        if len(self._running) >= self._max_parallel_tasks:
            left = Counter({task: count for task, count in left.items() if task in self._running})
        untouched = [task for task in left if task not in self._running]
        return untouched[0] if untouched else max(left, key=left.__getitem__, default=None)


def _leave(running: Counter[TaskKey], task: TaskKey) -> None:
    running[task] -= 1
    if not running[task]:
        del running[task]
