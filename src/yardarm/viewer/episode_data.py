"""The data of the episode page."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from yardarm.errors import ConsentNeeded, UsageError
from yardarm.replay import StoredRun
from yardarm.results import EpisodeRecord, PolicyLabel, RunFolder

__all__ = ["episode_data"]


def episode_data(stored: StoredRun, task: str, index: int) -> dict[str, Any]:
    """An episode step by step, and the cameras it can be watched from."""
    record = stored.find(task, index, errors_too=True)
    content: dict[str, Any] = {
        "task": task,
        "index": index,
        "seed": record.key.seed,
        "status": record.status,
        "policy": record.key.policy,
        "policy_label": PolicyLabel.of(stored.manifest).to_json(),
        "steps": record.steps,
        "reward": record.sum_reward,
        "error": record.error,
        "neighbours": _neighbours(stored, record),
    }
    played = _played(stored.folder, record) | _states(stored.folder, record)
    return content | played | _cameras(stored, record) | _pace(stored, record)


def _played(folder: RunFolder, record: EpisodeRecord) -> dict[str, Any]:
    if record.status == "error":
        return {"actions": [], "rewards": []}
    try:
        played = folder.load_played(record.key)
    except UsageError as error:
        return {"actions": [], "rewards": [], "problem": str(error)}
    return {"actions": _by_dimension(played.actions), "rewards": _plain(played.rewards)}


def _states(folder: RunFolder, record: EpisodeRecord) -> dict[str, Any]:
    trace = folder.load_trace(record.key)
    if trace is None:
        return {"states": None}
    return {"states": {"every": trace.every, "values": _by_dimension(trace.states)}, "diverged_at": trace.diverged_at}


def _cameras(stored: StoredRun, record: EpisodeRecord) -> dict[str, Any]:
    """The cameras, those that have a video, and why no more videos can be rendered."""
    if record.status == "error":
        return {"cameras": [], "ready": []}
    try:
        cameras: Sequence[str] = stored.replay(record).episode.task.env.cameras
        problem = None
    except ConsentNeeded as needed:
        cameras, problem = _filmed(stored, record), _how_to_render(stored, record, needed)
    except UsageError as error:
        cameras, problem = _filmed(stored, record), str(error)
    ready = [camera for camera in cameras if stored.folder.video(record.key, camera).is_file()]
    return {"cameras": list(cameras), "ready": ready, "no_rendering": problem}


def _how_to_render(stored: StoredRun, record: EpisodeRecord, needed: ConsentNeeded) -> str:
    """Opening a page is not consent to run code; typing a command is."""
    run, task = shlex.quote(str(stored.folder.path)), f"{record.key.benchmark}/{record.key.task}"
    return (
        f"Rendering this episode would run {needed.code.rstrip(',')}. The viewer never runs code from a run. If "
        f"you trust it, render the video with `yardarm replay {run} --task={shlex.quote(task)} "
        f"--episode={record.key.index} --trust_remote_code=true` and reload this page."
    )


def _filmed(stored: StoredRun, record: EpisodeRecord) -> list[str]:
    """The cameras of existing videos, from their file names."""
    return [Path(path).stem.split("_", 2)[2] for path in stored.folder.videos()(record.key)]


def _pace(stored: StoredRun, record: EpisodeRecord) -> dict[str, Any]:
    """The task's frame rate, step limit and instruction."""
    for task in stored.manifest.tasks:
        if (task.benchmark, task.name) == (record.key.benchmark, record.key.task):
            return {"fps": task.fps, "max_steps": task.max_steps, "instruction": task.instruction}
    return {"fps": 20, "max_steps": record.steps, "instruction": ""}


def _neighbours(stored: StoredRun, record: EpisodeRecord) -> Mapping[str, int | None]:
    """The previous and next episodes of the same task, and the next that failed."""
    own = (record.key.benchmark, record.key.task)
    records = {key.index: one for key, one in stored.records.items() if (key.benchmark, key.task) == own}
    before = [index for index in records if index < record.key.index]
    after = sorted(index for index in records if index > record.key.index)
    failed = [index for index in after if records[index].status != "success"]
    return {
        "previous": max(before, default=None),
        "next": after[0] if after else None,
        "next_failure": failed[0] if failed else None,
    }


def _by_dimension(values: np.ndarray) -> list[list[float]]:
    return [_plain(column) for column in np.atleast_2d(values.reshape(len(values), -1)).T]


def _plain(values: np.ndarray) -> list[float]:
    return [float(f"{value:.5g}") for value in values]
