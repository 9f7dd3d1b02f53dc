"""The summary line of a run in the list."""

from __future__ import annotations

import math
from typing import Any

from yardarm.comparison import read_runs
from yardarm.results import Counts, PolicyLabel, Rate, RunFolder, StoredResult, read_result

__all__ = ["run_line"]

# Commands that play episodes to record them.
RECORDING = ("record", "lerobot-record")


def run_line(folder: RunFolder) -> dict[str, Any]:
    """The line of a run of Yardarm or LeRobot; raises if the run is damaged."""
    own = (folder.manifest, folder.journal, folder.config)
    if folder.eval_info.exists() and not any(path.exists() for path in own):
        return _finite(_of_lerobot(folder))
    return _finite(_of_yardarm(read_result(folder)))


def _finite(line: dict[str, Any]) -> dict[str, Any]:
    """Replace nan and infinity, which JSON does not allow, with None."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in line.items()
    }


def _of_lerobot(folder: RunFolder) -> dict[str, Any]:
    """LeRobot's runs have outcomes that can be compared, but nothing else to show."""
    (run,) = read_runs([folder.path], allow_unfinished=True)
    outcomes = [outcome.success for outcome in run.outcomes.values()]
    counts = Counts(outcomes.count(True), len(outcomes) - outcomes.count(None), outcomes.count(None))
    tasks = [task.partition("/") for task in run.tasks]
    return {
        "status": "LeRobot",
        "policy": "",
        "benchmarks": sorted({benchmark for benchmark, _, _ in tasks}),
        "tasks": sorted({task for _, _, task in tasks}),
        "planned": len(outcomes),
        **Rate(counts, counts.interval).to_json(),
    }


def _of_yardarm(stored: StoredResult) -> dict[str, Any]:
    result, manifest = stored.result, stored.manifest
    return {
        "status": stored.status,
        "policy": manifest.plan.policy or "",
        "policy_label": PolicyLabel.of(manifest).to_json(),
        "benchmarks": sorted({task.task.benchmark for task in result.tasks}),
        "tasks": sorted({task.task.name for task in result.tasks}),
        "planned": result.planned,
        "mixed": bool(result.mixed_versions),
        "started": manifest.started,
        "wall_s": result.wall_s,
        "recording": any(session.command[1:2] == (word,) for session in manifest.sessions for word in RECORDING),
        "uses": [
            str(path) for path in (manifest.newest.policy and manifest.newest.policy.path, result.against) if path
        ],
        **Rate.over(result.by_task(), result.uncertainty).to_json(),
    }
