"""The data of the run page: statistics are computed here, and the browser draws them."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from yardarm.errors import UsageError, one_line
from yardarm.report import about_unfinished, result_notes
from yardarm.results import (
    EpisodeKey,
    EpisodeRecord,
    PolicyLabel,
    Rate,
    RunFolder,
    SessionRecord,
    StoredResult,
    TaskResult,
    Uncertainty,
    about_mixed_versions,
    first_to_see,
)

__all__ = ["downsampled", "json_safe", "rounded", "run_data"]

# Enough curves to judge a task, few enough for a page that opens quickly.
MOST_CURVES = 240
FAILED_CURVES, SOLVED_CURVES = 8, 4
CURVE_POINTS = 80
LONGEST_ERROR = 4000
OUTCOMES = {"success": "s", "failure": "f", "error": "e"}


def run_data(stored: StoredResult, name: str) -> dict[str, Any]:
    """Everything the page of a run shows, finished or not."""
    try:
        return _run_data(stored, name)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"{stored.folder.path} cannot be shown ({one_line(error)}); it is damaged, or from another version"
        ) from error


def _run_data(stored: StoredResult, name: str) -> dict[str, Any]:
    result, manifest = stored.result, stored.manifest
    tasks = list({task.task.key(): task for task in result.tasks}.values())
    several = len({task.task.benchmark for task in tasks}) > 1
    records = [record for task in tasks for record in task.episodes]
    return {
        "name": name,
        "path": str(stored.folder.path),
        "status": stored.status,
        "policy": manifest.plan.policy or "",
        "policy_label": PolicyLabel.of(manifest).to_json(),
        "seed": manifest.plan.seed,
        "started": manifest.started,
        "wall_s": result.wall_s,
        "workers": manifest.newest.batch_size,
        "planned": result.planned,
        "episodes_per_task": manifest.n_episodes,
        "confidence": result.uncertainty.confidence,
        "overall": _score_over(result.by_task(), result.uncertainty),
        "caution": about_unfinished(stored),
        "mixed": about_mixed_versions(result.mixed_versions) or None,
        "sentences": _sentences(stored),
        "warnings": list(result.warnings),
        "tasks": [_task(task, result.uncertainty, several) for task in tasks],
        "groups": _groups(result.groups(), tasks, result.uncertainty),
        "episodes": _columns(tasks, stored.folder),
        "pictures": _pictures(records, stored.folder),
        "curves": _curves(tasks, stored.folder),
        "timing": _timing(records),
        "made_with": _made_with(stored),
    }


def _sentences(stored: StoredResult) -> list[str]:
    """The notes below the results; none while a run without early stopping is unfinished."""
    if stored.result.stopping is None and not stored.is_finished:
        return []
    return [line.strip() for line in result_notes(stored.result) if line.strip()]


def _task(result: TaskResult, uncertainty: Uncertainty, several: bool) -> dict[str, Any]:
    """A task; its name includes the benchmark if there are several."""
    task, counts = result.task, result.counts
    rate = Rate(counts, uncertainty.of_task(counts.of_task))
    return {
        "id": f"{task.benchmark}/{task.name}",
        "name": f"{task.benchmark}/{task.name}" if several else task.name,
        "group": task.group,
        "instruction": task.instruction,
        "max_steps": task.max_steps,
        "fps": task.fps,
        "score": {**_score(rate), **_means(result.episodes)},
    }


def _groups(
    groups: Mapping[str, Sequence[TaskResult]], tasks: Sequence[TaskResult], uncertainty: Uncertainty
) -> list[dict[str, Any]]:
    """The groups of several tasks, each with its tasks' positions in the list of tasks."""
    place = {task.task.key(): number for number, task in enumerate(tasks)}
    return [
        {
            "name": name,
            "tasks": [place[task.task.key()] for task in own],
            "score": _score_over([task.episodes for task in own], uncertainty),
        }
        for name, own in groups.items()
        if len(own) > 1
    ]


def _score_over(tasks: Sequence[Sequence[EpisodeRecord]], uncertainty: Uncertainty) -> dict[str, Any]:
    return {**_score(Rate.over(tasks, uncertainty)), **_means([record for task in tasks for record in task])}


def _score(rate: Rate) -> dict[str, Any]:
    score, counts = rate.to_json(), rate.counts
    if counts.errors:  # their outcomes are unknown, so show the rate for both cases
        score["if_errors_failed"] = counts.errors_failed.rate
        score["if_errors_succeeded"] = counts.errors_succeeded.rate
    return score


def _columns(tasks: Sequence[TaskResult], folder: RunFolder) -> dict[str, Any]:
    """Episodes by column, because a run may have ten thousand."""
    rows = [(place, record) for place, task in enumerate(tasks) for record in task.episodes]
    videos = folder.videos()
    return {
        "task": [place for place, _ in rows],
        "index": [record.key.index for _, record in rows],
        "seed": [record.key.seed for _, record in rows],
        "outcome": "".join(OUTCOMES[record.status] for _, record in rows),
        "steps": [record.steps for _, record in rows],
        "reward": [rounded(record.sum_reward) for _, record in rows],
        "seconds": [round(record.timing.wall_s, 2) for _, record in rows],
        "errors": {row: (record.error or "")[-LONGEST_ERROR:] for row, (_, record) in enumerate(rows) if record.error},
        "videos": {
            row: found for row, (_, record) in enumerate(rows) if (found := _videos(folder, videos(record.key)))
        },
    }


def _videos(folder: RunFolder, paths: Sequence[str]) -> list[str]:
    return [str(path)[len(str(folder.path)) + 1 :] for path in paths]


def _pictures(records: Sequence[EpisodeRecord], folder: RunFolder) -> list[int]:
    """The rows of episodes to see first, of those that have a picture."""
    replayed = folder.replayed()
    rows = {record.key: row for row, record in enumerate(records)}
    pictured = [record for record in records if folder.picture(record.key) in replayed(record.key)]
    return [rows[record.key] for record in first_to_see(pictured)]


def _curves(tasks: Sequence[TaskResult], folder: RunFolder) -> list[dict[str, Any]]:
    """The rewards of some episodes of each task, failures first."""
    share = max(2, MOST_CURVES // max(1, len(tasks)))
    curves = []
    for place, task in enumerate(tasks):
        failed = [record for record in task.episodes if record.status == "failure"][:FAILED_CURVES]
        solved = [record for record in task.episodes if record.success][:SOLVED_CURVES]
        chosen = [*failed[: max(1, share - len(solved))], *solved][:share]
        curves += [
            {"task": place, "index": record.key.index, "outcome": OUTCOMES[record.status], **curve}
            for record in chosen
            if (curve := _rewards(folder, record.key)) is not None
        ]
    return curves


def _rewards(folder: RunFolder, key: EpisodeKey) -> dict[str, Any] | None:
    try:
        rewards = folder.load_played(key).rewards
    except UsageError:
        return None  # the actions file is missing; the rest of the page still works
    return downsampled(rewards)


def downsampled(values: np.ndarray, points: int = CURVE_POINTS) -> dict[str, Any]:
    """Means over equal stretches of steps, at most `points` of them."""
    every = max(1, -(-len(values) // points))
    means = [rounded(float(values[start : start + every].mean())) for start in range(0, len(values), every)]
    return {"every": every, "values": means}


def _timing(records: Iterable[EpisodeRecord]) -> dict[str, float]:
    """How the time of the episodes was spent; the rest was spent waiting."""
    totals = dict.fromkeys(("build", "reset", "step", "look", "infer", "idle"), 0.0)
    for record in records:
        timing = record.timing
        parts = {name: getattr(timing, f"{name}_s") for name in totals if name != "idle"}
        for name, seconds in parts.items():
            totals[name] += seconds
        totals["idle"] += max(0.0, timing.wall_s - sum(parts.values()))
    return {name: round(seconds, 3) for name, seconds in totals.items()}


def _made_with(stored: StoredResult) -> dict[str, Any]:
    sessions, newest = stored.manifest.sessions, stored.manifest.newest
    # A repetition needs a new folder: with the same one, it would have nothing left to do.
    again = ["yardarm", "eval", f"--config_path={stored.folder.config}", "--output_dir=NEW_FOLDER"]
    return {
        "command": shlex.join(newest.command),
        "repeat": shlex.join(again),
        "config": stored.config,
        "software": _software(sessions),
        "machine": json_safe({**(newest.machine.to_json() if newest.machine else {}), "renderer": newest.renderer}),
        "git_commit": newest.git_commit,
        "sessions": len(sessions),
        "policy": json_safe(newest.policy.to_json() if newest.policy else {}),
    }


def _software(sessions: Sequence[SessionRecord]) -> list[dict[str, Any]]:
    """The software of the sessions, grouped by equal versions, oldest first."""
    found: dict[str, dict[str, Any]] = {}
    for session in sessions:
        elsewhere = {
            f"{package} of {python}": version
            for python, versions in session.other_interpreters.items()
            for package, version in versions.items()
        }
        own = {
            "versions": {**session.versions, **elsewhere},
            "variables": session.environment_variables or {},
        }
        known = found.setdefault(json.dumps(own, sort_keys=True), {**own, "started": []})
        known["started"].append(session.started)
    return list(found.values())


def json_safe(value: Any) -> Any:
    """Values that JSON allows: infinities, which may be among a policy's options, become text."""
    if isinstance(value, dict):
        return {name: json_safe(item) for name, item in value.items()}
    if isinstance(value, list):
        return [json_safe(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _means(records: Sequence[EpisodeRecord]) -> dict[str, float | None]:
    ended = [record for record in records if record.status != "error"]
    count = len(ended)
    return {
        "mean_steps": rounded(sum(record.steps for record in ended) / count) if count else None,
        "mean_return": rounded(sum(record.sum_reward for record in ended) / count) if count else None,
    }


def rounded(value: float) -> float | None:
    """Six digits, more than a page can show; None if the value is not finite."""
    return float(f"{value:.6g}") if math.isfinite(value) else None
