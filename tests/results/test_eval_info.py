from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import GOLDEN
from yardarm.results import EpisodeKey, EpisodeRecord, eval_info, summarise
from yardarm.stats import wilson
from yardarm.tasks.metaworld import MetaworldConfig


def results(selector: str, statuses: str) -> Any:
    """S: success, F: failure, E: error; the same for each task."""
    tasks = MetaworldConfig(task=selector).tasks()
    kinds = {"S": "success", "F": "failure", "E": "error"}
    records = {
        key: EpisodeRecord(
            key, kinds[letter], steps=10 + index, sum_reward=float(index), error="why" if letter == "E" else None
        )  # type: ignore[arg-type]
        for task in tasks
        for index, letter in enumerate(statuses)
        for key in [EpisodeKey("p", *task.key(), index, 1000 + index)]
    }
    return summarise(Path("run"), tasks, records.values(), len(records), wall_s=12.0)


def keys_of(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: keys_of(inner) for name, inner in value.items()}
    return [keys_of(value[0])] if isinstance(value, list) and value and isinstance(value[0], dict) else None


def assert_has_keys(ours: Any, theirs: Any, where: str = "") -> None:
    if isinstance(theirs, dict):
        for name, inner in theirs.items():
            assert name in ours, f"{where}.{name} is missing"
            assert_has_keys(ours[name], inner, f"{where}.{name}")
    elif isinstance(theirs, list):
        assert_has_keys(ours[0], theirs[0], f"{where}[0]")


def test_all_of_lerobots_keys_are_there() -> None:
    golden = json.loads((GOLDEN / "eval_info.json").read_text())
    ours = eval_info(results("reach-v3", "FF"), lambda key: [])
    assert_has_keys(ours, keys_of(golden))
    json.dumps(ours, allow_nan=False)


def test_errors_are_neither_successes_nor_failures() -> None:
    info = eval_info(results("reach-v3", "SSFE"), lambda key: [])
    metrics = info["per_task"][0]["metrics"]
    assert metrics["successes"] == [True, True, False]
    assert metrics["seeds"] == [1000, 1001, 1002]
    assert metrics["lengths"] == [10, 11, 12]
    assert metrics["errors"] == [{"episode_index": 3, "seed": 1003, "error": "why"}]
    overall = info["overall"]
    assert overall["n_episodes"] == 3
    assert overall["n_errors"] == 1
    assert overall["pc_success"] == pytest.approx(200 / 3)
    interval = wilson(2, 3)
    assert overall["success_interval"]["low"] == interval.low


def test_a_task_in_two_groups_counts_in_each_and_once_overall() -> None:
    info = eval_info(results("reach-v3,mt10", "SF"), lambda key: [])
    assert info["per_group"]["reach-v3"]["n_episodes"] == 2
    assert info["per_group"]["mt10"]["n_episodes"] == 20
    assert info["overall"]["n_episodes"] == 20


def test_a_run_without_results_has_no_rates() -> None:
    info = eval_info(results("reach-v3", ""), lambda key: [])
    assert info["overall"]["pc_success"] is None
    assert info["overall"]["success_interval"]["high"] == 1.0
