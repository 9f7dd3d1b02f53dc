"""``eval_info.json``: all of LeRobot's keys, and what they lack.

LeRobot's lists hold one entry per episode. Episodes that ended in an error are in none of them; they are
listed under ``errors``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from yardarm.results.record import EpisodeKey, EpisodeRecord
from yardarm.results.summary import Counts, RunResult, TaskResult

__all__ = ["eval_info"]

Videos = Callable[[EpisodeKey], Sequence[str]]
"""Gives the paths of an episode's videos."""


def eval_info(result: RunResult, videos: Videos) -> dict[str, Any]:
    """Bring results into LeRobot's schema."""
    overall = _aggregate(result.episodes, videos)
    finished = overall["n_episodes"]
    overall["eval_s"] = result.wall_s
    overall["eval_ep_s"] = result.wall_s / finished if finished else None
    overall["planned_episodes"] = result.planned
    return {
        "per_task": [_task(task, videos) for task in result.tasks],
        "per_group": {
            name: _aggregate([record for task in tasks for record in task.episodes], videos)
            for name, tasks in result.groups().items()
        },
        "overall": overall,
    }


def _task(result: TaskResult, videos: Videos) -> dict[str, Any]:
    ended = [record for record in result.episodes if record.status != "error"]
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
            **_counts(result.counts),
        },
    }


def _aggregate(records: Sequence[EpisodeRecord], videos: Videos) -> dict[str, Any]:
    ended = [record for record in records if record.status != "error"]
    counts = Counts.of(records)
    return {
        "avg_sum_reward": _mean(record.sum_reward for record in ended),
        "avg_max_reward": _mean(record.max_reward for record in ended),
        "pc_success": None if counts.rate is None else 100 * counts.rate,
        "n_episodes": len(ended),
        "video_paths": _paths(ended, videos),
        "predicted_video_paths": [],
        "avg_length": _mean(record.steps for record in ended),
        **_counts(counts),
    }


def _counts(counts: Counts) -> dict[str, Any]:
    interval = counts.interval
    return {
        "n_successes": counts.successes,
        "n_errors": counts.errors,
        "success_interval": {
            "method": "wilson",
            "confidence": interval.confidence,
            "low": interval.low,
            "high": interval.high,
        },
    }


def _mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else None


def _paths(records: Iterable[EpisodeRecord], videos: Videos) -> list[str]:
    return [path for record in records for path in videos(record.key)]
