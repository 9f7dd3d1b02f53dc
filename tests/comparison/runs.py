"""Runs for comparisons: made up in memory, or written as a run's folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from yardarm.comparison import EpisodeName, EpisodeOutcome, RunOutcomes
from yardarm.files import write_json
from yardarm.results import EpisodeKey, EpisodeRecord, PlayedEpisode, RunFolder

TASK = "metaworld/reach-v3"


def made_up(
    name: str, outcomes: Sequence[bool | None], first_seed: int = 1000, task: str = TASK, **more: Any
) -> RunOutcomes:
    """A run of one task with these outcomes."""
    episodes = {EpisodeName(task, k, first_seed + k): EpisodeOutcome(success) for k, success in enumerate(outcomes)}
    return RunOutcomes(name, Path(name), episodes, **more)


def written(folder: Path, outcomes: Sequence[bool | None], shift: float = 0.0, **manifest: Any) -> Path:
    """A folder like that of a run of one task; `shift` moves the states that its episodes begin in."""
    run, env = RunFolder(folder), "env"
    folder.mkdir(parents=True)
    lines = []
    for index, success in enumerate(outcomes):
        key = EpisodeKey("policy", "metaworld", env, "reach-v3", index, 1000 + index)
        start = np.array([index / 10, 1.0]) * (1 + shift)
        run.save_played(key, PlayedEpisode(np.zeros((1, 4)), np.zeros(1), start))
        status = "error" if success is None else "success" if success else "failure"
        fingerprints = {} if success is None else {"0": f"{index}/{shift}"}
        lines.append(EpisodeRecord(key, status, steps=1, fingerprints=fingerprints).to_json())  # type: ignore[arg-type]
    run.journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    task = {"benchmark": "metaworld", "env": env, "group": "easy", "index": 0, "name": "reach-v3"}
    task |= {"instruction": "Reach", "max_steps": 500, "fps": 80}
    plan = {"policy": folder.name, "env": [{"benchmark": "metaworld", "height": 480}]}
    content = {"plan": plan, "tasks": [task], "n_episodes": len(outcomes), "status": "finished", **manifest}
    write_json(run.manifest, content)
    return folder
