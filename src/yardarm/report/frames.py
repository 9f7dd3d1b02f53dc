"""Results as pandas' tables, with a type for each column."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from yardarm.comparison import Comparison, Difference, Pairwise
from yardarm.errors import SetupError
from yardarm.results import EpisodeRecord, RunResult

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["comparison_frame", "curve_frame", "episodes_frame"]

EPISODES = {
    "policy": "string",
    "benchmark": "string",
    "group": "string",
    "task": "string",
    "index": "int64",
    "seed": "int64",
    "success": "boolean",
    "status": "string",
    "steps": "Int64",
    "return": "float64",
    "max_reward": "float64",
    "seconds": "float64",
    "error": "string",
}
DIFFERENCES = {
    "a": "string",
    "b": "string",
    "task": "string",
    "successes_a": "int64",
    "episodes_a": "int64",
    "successes_b": "int64",
    "episodes_b": "int64",
    "difference": "float64",
    "low": "float64",
    "high": "float64",
    "p_value": "float64",
    "p_adjusted": "float64",
    "only_a": "Int64",
    "only_b": "Int64",
    "pairs": "Int64",
    "test": "string",
}
CURVE = {
    "kind": "string",
    "step": "int64",
    "loss": "float64",
    "grad_norm": "float64",
    "lr": "float64",
    "epoch": "float64",
    "samples_per_s": "float64",
    "elapsed_s": "float64",
    "successes": "Int64",
    "episodes": "Int64",
    "errors": "Int64",
    "rate": "float64",
    "low": "float64",
    "high": "float64",
    "status": "string",
    "path": "string",
}


def episodes_frame(runs: Mapping[str, RunResult] | RunResult) -> DataFrame:
    """A row per episode. Errors have no outcome; a task that several groups selected names them all."""
    named = {None: runs} if isinstance(runs, RunResult) else runs
    rows = []
    for name, run in named.items():
        groups: dict[tuple[str, str, str], list[str]] = {}
        for task in run.tasks:
            groups.setdefault(task.task.key(), []).append(task.task.group)
        for record in run.episodes:
            key = record.key
            group = ",".join(groups[key.benchmark, key.env, key.task])
            rows.append({**_episode(record), "group": group, "policy": name or key.policy})
    return _frame(rows, EPISODES)


def comparison_frame(comparison: Comparison) -> DataFrame:
    """A row per pair of runs and task; the task of a pair's total is ``(all)``."""
    pairs = comparison.pairs
    return _frame([_difference(pair, row) for pair in pairs for row in (*pair.tasks, pair.overall)], DIFFERENCES)


def curve_frame(points: Iterable[Mapping[str, Any]]) -> DataFrame:
    """A row per point of a learning curve, by step; a loss that has parts has a column for each."""
    rows, types = [], dict(CURVE)
    ended = (point for point in points if point.get("status") != "running")
    for point in sorted(ended, key=lambda point: point["step"]):
        parts = {f"loss_{name}": value for name, value in point.get("parts", {}).items()}
        types.update(dict.fromkeys(parts, "float64"))
        rows.append({**point, **parts})
    frame = _frame(rows, types)
    return frame.dropna(axis="columns", how="all")


def _episode(record: EpisodeRecord) -> dict[str, Any]:
    key, ended = record.key, record.status != "error"
    return {
        "benchmark": key.benchmark,
        "task": key.task,
        "index": key.index,
        "seed": key.seed,
        "success": record.success if ended else None,
        "status": record.status,
        "steps": record.steps if ended else None,
        "return": record.sum_reward if ended else None,
        "max_reward": record.max_reward if ended else None,
        "seconds": record.timing.wall_s,
        "error": record.error,
    }


def _difference(pair: Pairwise, row: Difference) -> dict[str, Any]:
    counts = row.counts
    return {
        "a": pair.a,
        "b": pair.b,
        "task": row.task.partition("/")[2] or row.task or "(all)",
        "successes_a": row.a.successes,
        "episodes_a": row.a.trials,
        "successes_b": row.b.successes,
        "episodes_b": row.b.trials,
        "difference": row.difference,
        "low": row.interval.low,
        "high": row.interval.high,
        "p_value": row.p_value,
        "p_adjusted": math.nan if row.p_adjusted is None else row.p_adjusted,
        "only_a": counts.only_a if counts else None,
        "only_b": counts.only_b if counts else None,
        "pairs": counts.pairs if counts else None,
        "test": pair.method,
    }


def _frame(rows: Sequence[Mapping[str, Any]], types: Mapping[str, str]) -> DataFrame:
    try:
        import pandas
    except ImportError as error:
        raise SetupError(
            "to_pandas() needs pandas, which is not installed; run: pip install 'yardarm[notebook]'"
        ) from error
    columns = {name: pandas.Series([row.get(name) for row in rows], dtype=kind) for name, kind in types.items()}
    return pandas.DataFrame(columns)
