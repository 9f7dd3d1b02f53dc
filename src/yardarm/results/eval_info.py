"""``eval_info.json``: all of LeRobot's keys, and more.

LeRobot's lists have one entry per episode. Episodes that ended in an error are not in them, but under ``errors``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Any

from yardarm.results.record import EpisodeKey, EpisodeRecord
from yardarm.results.summary import Counts, RunResult, TaskResult
from yardarm.results.uncertainty import Uncertainty
from yardarm.stats import Interval

__all__ = ["eval_info"]

Videos = Callable[[EpisodeKey], Sequence[str]]
"""Returns the paths of an episode's videos."""


def eval_info(result: RunResult, videos: Videos) -> dict[str, Any]:
    """Convert results to LeRobot's schema."""
    overall = _aggregate(result.by_task(), videos, result.uncertainty)
    finished = overall["n_episodes"]
    overall["eval_s"] = result.wall_s
    overall["eval_ep_s"] = result.wall_s / finished if finished else None
    overall["planned_episodes"] = result.planned
    if result.mixed_versions:
        overall["mixed_versions"] = {what: list(versions) for what, versions in result.mixed_versions.items()}
    if result.stopping is not None:
        overall["stopping"] = result.stopping.to_json()
    return {
        "per_task": [_task(task, videos, result.uncertainty) for task in result.tasks],
        "per_group": {
            name: _aggregate([task.episodes for task in tasks], videos, result.uncertainty)
            for name, tasks in result.groups().items()
        },
        "overall": overall,
    }


def _task(result: TaskResult, videos: Videos, uncertainty: Uncertainty) -> dict[str, Any]:
    ended = [record for record in result.episodes if record.status != "error"]
    counts = result.counts
    return {
        "task_group": result.task.group,
        "task_id": result.task.index,
        "task_name": result.task.name,
        "instruction": result.task.instruction,
        "metrics": {
            "sum_rewards": [record.sum_reward for record in ended],
            "max_rewards": [record.max_reward for record in ended],
            "successes": [record.success for record in ended],
            "video_paths": _paths(ended, videos),
            "predicted_video_paths": [],
            "episode_indices": [record.key.index for record in ended],
            "seeds": [record.key.seed for record in ended],
            "lengths": [record.steps for record in ended],
            "errors": [
                {"episode_index": record.key.index, "seed": record.key.seed, "error": record.error}
                for record in result.episodes
                if record.status == "error"
            ],
            **_counts(counts, uncertainty, uncertainty.of_task(counts.of_task), uncertainty.per_task),
        },
    }


def _aggregate(tasks: Sequence[Sequence[EpisodeRecord]], videos: Videos, uncertainty: Uncertainty) -> dict[str, Any]:
    ended = [[record for record in task if record.status != "error"] for task in tasks]
    each = [record for task in ended for record in task]
    counts = Counts.of(record for task in tasks for record in task)
    by_task = [Counts.of(task).of_task for task in tasks]
    method = uncertainty.per_task if uncertainty.over_tasks == "pooled" else uncertainty.over_tasks
    return {
        "avg_sum_reward": _mean(record.sum_reward for record in each),
        "avg_max_reward": _mean(record.max_reward for record in each),
        "pc_success": None if counts.rate is None else 100 * counts.rate,
        "n_episodes": len(each),
        "video_paths": _paths(each, videos),
        "predicted_video_paths": [],
        "avg_length": _mean(record.steps for record in each),
        **_counts(counts, uncertainty, uncertainty.of_tasks(by_task), method),
        "success_intervals": {name: _ends(own) for name, own in uncertainty.all_of(by_task).items()},
        "avg_sum_reward_interval": _ends(uncertainty.of_mean([[r.sum_reward for r in task] for task in ended])),
        "avg_length_interval": _ends(uncertainty.of_mean([[r.steps for r in task] for task in ended])),
    }


def _counts(counts: Counts, uncertainty: Uncertainty, interval: Interval, method: str) -> dict[str, Any]:
    content: dict[str, Any] = {
        "n_successes": counts.successes,
        "n_errors": counts.errors,
        "success_interval": {"method": method, **asdict(interval)},
    }
    if counts.errors:  # they could be either, so the rate is shown both ways
        content["errors_as_failures"] = _reading(counts.errors_failed, uncertainty)
        content["errors_as_successes"] = _reading(counts.errors_succeeded, uncertainty)
    return content


def _reading(counts: Counts, uncertainty: Uncertainty) -> dict[str, Any]:
    interval = uncertainty.of_task(counts.of_task)
    return {"success_rate": counts.rate, "success_interval": {"method": uncertainty.per_task, **asdict(interval)}}


def _ends(interval: Interval | None) -> dict[str, float] | None:
    return asdict(interval) if interval else None


def _mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else None


def _paths(records: Iterable[EpisodeRecord], videos: Videos) -> list[str]:
    return [path for record in records for path in videos(record.key)]
