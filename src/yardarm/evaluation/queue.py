"""The one queue of episodes over all tasks."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable

from yardarm.tasks import EpisodeSpec, TaskSpec

__all__ = ["EpisodeQueue"]

TaskKey = tuple[str, str, str]


class EpisodeQueue:
    """Hands out episodes so that a worker keeps its task, and so its simulator, where that costs nothing."""

    def __init__(self, episodes: Iterable[EpisodeSpec], max_parallel_tasks: int = 0) -> None:
        self._waiting: dict[TaskKey, deque[EpisodeSpec]] = {}
        self._running: Counter[TaskKey] = Counter()
        for episode in episodes:
            self._waiting.setdefault(episode.task.key(), deque()).append(episode)
        self._max_parallel_tasks = max_parallel_tasks or max(1, len(self._waiting))

    def take(self, at_hand: TaskSpec | None = None) -> EpisodeSpec | None:
        """The next episode for a worker that has this task's simulator at hand; None if there is none for it."""
        task = self._choose(at_hand.key() if at_hand else None)
        if task is None:
            return None
        self._running[task] += 1
        return self._waiting[task].popleft()

    def done(self, episode: EpisodeSpec) -> None:
        """The episode is not running any more."""
        task = episode.task.key()
        self._running[task] -= 1
        if not self._running[task]:
            del self._running[task]

    def put_back(self, episode: EpisodeSpec) -> None:
        """Run the episode again, before the others of its task."""
        self.done(episode)
        self._waiting[episode.task.key()].appendleft(episode)

    def _choose(self, at_hand: TaskKey | None) -> TaskKey | None:
        waiting = [task for task, episodes in self._waiting.items() if episodes]
        if len(self._running) >= self._max_parallel_tasks:
            waiting = [task for task in waiting if task in self._running]
        if at_hand in waiting:
            return at_hand
        untouched = [task for task in waiting if task not in self._running]
        if untouched:
            return untouched[0]
        # Help where most is left: a second simulator of a task that has but one episode left would be in vain.
        return max(waiting, key=lambda task: len(self._waiting[task]), default=None)
