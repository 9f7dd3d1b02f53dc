"""Which episodes an evaluation consists of, and what makes two evaluations the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

from yardarm.evaluation.sharding.shard import Shard
from yardarm.results import EpisodeKey
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
    stopping: Mapping[str, Any] | None = None
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

    def identity(self) -> dict[str, Any]:
        """What must be equal for a run to continue another's episodes; their number may grow."""
        return {
            "policy": self.policy_id,
            "seed": self.seed,
            "tasks": [f"{task.group}/{task.name}" for task in self.tasks],
            "env": [
                {"benchmark": task.benchmark, **task.env.options}
                for task in {task.key()[:2]: task for task in self.tasks}.values()
            ],
            **({"stopping": dict(self.stopping)} if self.stopping else {}),
        }

    def to_json(self) -> dict[str, Any]:
        """What a manifest says of the plan."""
        return {
            "plan_hash": self.hash(),
            "plan": self.identity(),
            "n_episodes": self.n_episodes,
            **({"shard": str(self.shard), "planned": len(self.episodes())} if self.shard else {}),
            "tasks": [
                {
                    "benchmark": task.benchmark,
                    "env": task.env.options_hash,
                    "group": task.group,
                    "index": task.index,
                    "name": task.name,
                    "instruction": task.instruction,
                    "max_steps": task.max_steps,
                    "fps": task.fps,
                }
                for task in self.tasks
            ],
        }

    def hash(self) -> str:
        """A short name for the identity."""
        return hashlib.sha256(json.dumps(self.identity(), sort_keys=True).encode()).hexdigest()[:16]


def describe_difference(stored: dict[str, Any], wanted: dict[str, Any]) -> str:
    """Say in a few words what differs between two identities."""
    parts = []
    for name in wanted:
        old, new = stored.get(name), wanted[name]
        if old == new:
            continue
        if name == "env" and isinstance(old, list) and len(old) == len(new) == 1:
            options = [option for option in {**old[0], **new[0]} if old[0].get(option) != new[0].get(option)]
            parts += [f"{option} was {old[0].get(option)}, is now {new[0].get(option)}" for option in options]
        elif isinstance(new, list):
            parts.append(f"{name} were {_shortened(old)}, are now {_shortened(new)}")
        else:
            parts.append(f"{name} was {old}, is now {new}")
    return "; ".join(parts)


def _shortened(values: Any) -> str:
    texts = [str(value) for value in values or ()]
    return ", ".join(texts[:4]) + (f", … ({len(texts)})" if len(texts) > 4 else "")
