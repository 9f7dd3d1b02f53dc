"""Which episodes an evaluation consists of, and what makes two evaluations the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Any

from yardarm.evaluation.sharding.shard import Shard
from yardarm.results import EpisodeKey, PlannedTask, PlanRecord, RunManifest, StoppingDeclaration, now
from yardarm.tasks import EpisodeSpec, TaskSpec

__all__ = ["Plan", "describe_difference"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The same number of episodes of each task, with consecutive seeds."""

    policy_id: str
    tasks: tuple[TaskSpec, ...]
    """As selected: a task that is in two groups is listed for each."""
    n_episodes: int
    seed: int
    stopping: StoppingDeclaration | None = None
    """What was declared about early stopping, if anything."""
    shard: Shard | None = None
    """The part that is played here; None: all. It does not belong to the identity: all parts have one plan."""
    policy_place: int = 0
    """Which policy of how many plays it: parts are counted over all of them."""
    policy_count: int = 1

    def distinct_tasks(self) -> tuple[TaskSpec, ...]:
        """Each task once, in the order of its first selection: it runs once, and counts in each group."""
        first: dict[tuple[str, str, str], TaskSpec] = {}
        for task in self.tasks:
            first.setdefault(task.key(), task)
        return tuple(first.values())

    def episodes(self) -> list[EpisodeSpec]:
        """All episodes, task by task; of a shard, those that are played here."""
        tasks = self.distinct_tasks()
        first, cells = self.policy_place * len(tasks), self.policy_count * len(tasks)
        return [
            EpisodeSpec(task, index, self.seed + index)  # as in LeRobot
            for cell, task in enumerate(tasks, start=first)
            for index in range(self.n_episodes)
            if self.shard is None or self.shard.has(cell, cells, index)
        ]

    def missing(self, finished: Container[EpisodeKey]) -> list[EpisodeSpec]:
        """The episodes that are still to run."""
        return [episode for episode in self.episodes() if self.key(episode) not in finished]

    def key(self, episode: EpisodeSpec) -> EpisodeKey:
        """The name that an episode's result is filed under."""
        benchmark, env, name = episode.task.key()
        return EpisodeKey(self.policy_id, benchmark, env, name, episode.index, episode.seed)

    def identity(self) -> PlanRecord:
        """What must be equal for a run to continue another's episodes; their number may grow."""
        worlds: dict[tuple[str, ...], list[TaskSpec]] = {}
        for task in self.tasks:
            worlds.setdefault(task.key()[:2], []).append(task)
        return PlanRecord(
            policy=self.policy_id,
            seed=self.seed,
            tasks=tuple(f"{task.group}/{task.name}" for task in self.tasks),
            env=tuple(_options(tasks) for tasks in worlds.values()),
            stopping=self.stopping,
        )

    def manifest(self, stored: RunManifest | None) -> RunManifest:
        """The record of a run of this plan: a new one, or that of earlier sessions."""
        plan, tasks = self.identity(), tuple(PlannedTask.of(task) for task in self.tasks)
        return replace(
            stored or RunManifest(plan, self.n_episodes, tasks, started=now()),
            plan=plan,
            plan_hash=self.hash(),
            n_episodes=self.n_episodes,
            tasks=tasks,
            shard=str(self.shard) if self.shard else None,
            planned=len(self.episodes()) if self.shard else None,
        )

    def hash(self) -> str:
        """A short name for the identity."""
        return hashlib.sha256(json.dumps(self.identity().to_json(), sort_keys=True).encode()).hexdigest()[:16]


def _options(tasks: Sequence[TaskSpec]) -> dict[str, Any]:
    """The options of a world, and what policies are told there instead of the tasks' own words."""
    options = {"benchmark": tasks[0].benchmark, **tasks[0].env.options}
    told = {task.name: task.instruction for task in tasks if task.told}
    if not told:
        return options
    one_for_all = len(set(told.values())) == 1 and all(task.told for task in tasks)
    return {**options, "instruction": tasks[0].instruction if one_for_all else told}


def describe_difference(stored: PlanRecord, wanted: PlanRecord) -> str:
    """Say in a few words what differs between two identities."""
    before = stored.to_json()
    changed = {name: new for name, new in wanted.to_json().items() if before.get(name) != new}
    return "; ".join(part for name, new in changed.items() for part in _changes(name, before.get(name), new))


def _changes(name: str, old: Any, new: Any) -> list[str]:
    if _is_one_map(old) and _is_one_map(new):  # the options of the only environment
        options = [option for option in {**old[0], **new[0]} if old[0].get(option) != new[0].get(option)]
        return [f"{option} was {old[0].get(option)}, is now {new[0].get(option)}" for option in options]
    if isinstance(new, list):
        return [f"{name} were {_shortened(old)}, are now {_shortened(new)}"]
    return [f"{name} was {old}, is now {new}"]


def _is_one_map(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict)


def _shortened(values: Any) -> str:
    texts = [str(value) for value in values or ()]
    return ", ".join(texts[:4]) + (f", … ({len(texts)})" if len(texts) > 4 else "")
