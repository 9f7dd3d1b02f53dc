"""What the page of a run shows: the same numbers as the results, from the folder alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pages.runs import toy_run
from tests.report.runs import stored, tasks_of
from yardarm.pages import run_data
from yardarm.pages.run_data import CURVE_POINTS, downsampled
from yardarm.results import RunFolder, read_result


def test_a_page_has_the_numbers_of_the_results(tmp_path: Path) -> None:
    result = toy_run(tmp_path / "run")
    data = run_data(read_result(RunFolder(tmp_path / "run")), "run")
    counts, interval = result.counts, result.counts.interval
    assert data["overall"]["successes"] == counts.successes
    assert (data["overall"]["low"], data["overall"]["high"]) == (interval.low, interval.high)
    assert [task["id"] for task in data["tasks"]] == ["toy/left", "toy/right"]
    assert data["episodes"]["outcome"].count("s") == counts.successes
    assert data["episodes"]["steps"] == [record.steps for record in result.episodes]
    assert data["status"] == "finished"
    assert data["planned"] == 12
    json.dumps(data, allow_nan=False)


def test_all_the_time_of_episodes_is_accounted_for(tmp_path: Path) -> None:
    result = toy_run(tmp_path / "run")
    timing = run_data(read_result(RunFolder(tmp_path / "run")), "run")["timing"]
    assert sum(timing.values()) == pytest.approx(sum(record.timing.wall_s for record in result.episodes), abs=0.02)
    assert timing["step"] > 0


def test_errors_are_told_with_both_readings_and_their_tracebacks(tmp_path: Path) -> None:
    data = run_data(stored(tmp_path / "run", tasks_of({"reach-v3": "ssfe"})), "run")
    overall = data["overall"]
    assert (overall["rate"], overall["errors"]) == (pytest.approx(2 / 3), 1)
    assert (overall["if_errors_failed"], overall["if_errors_succeeded"]) == (0.5, 0.75)
    assert "fell over" in data["episodes"]["errors"][3]


def test_a_task_of_two_groups_is_shown_once_and_counts_in_both(tmp_path: Path) -> None:
    easy = tasks_of({"reach-v3": "ss", "push-v3": "sf"}, group="easy")
    own = tasks_of({"reach-v3": "ss", "door-v3": "ff"}, group="own")
    data = run_data(stored(tmp_path / "run", [*easy, *own]), "run")
    assert [task["name"] for task in data["tasks"]] == ["reach-v3", "push-v3", "door-v3"]
    assert {group["name"]: group["tasks"] for group in data["groups"]} == {"easy": [0, 1], "own": [0, 2]}
    assert len(data["episodes"]["task"]) == data["planned"] == 6


def test_a_page_needs_no_recorded_actions(tmp_path: Path) -> None:
    toy_run(tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "actions")
    data = run_data(read_result(RunFolder(tmp_path / "run")), "run")
    assert data["curves"] == []
    assert len(data["episodes"]["task"]) == 12


def test_a_reward_that_is_no_number_is_left_out(tmp_path: Path) -> None:
    run = stored(tmp_path / "run", tasks_of({"reach-v3": "s"}))
    line = json.loads(run.folder.journal.read_text())
    run.folder.journal.write_text(json.dumps({**line, "sum_reward": float("-inf")}) + "\n")
    data = run_data(read_result(run.folder), "run")
    assert data["episodes"]["reward"] == [None]
    json.dumps(data, allow_nan=False)


def test_failures_are_drawn_first(tmp_path: Path) -> None:
    data = run_data(stored(tmp_path / "run", tasks_of({"reach-v3": "s" * 30 + "f" * 3})), "run")
    outcomes = "".join(curve["outcome"] for curve in data["curves"])
    assert outcomes == "fff" + "ssss"


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=700))
def test_downsampling_keeps_the_length_and_the_mean(values: list[float]) -> None:
    curve = downsampled(np.array(values))
    assert len(curve["values"]) <= CURVE_POINTS
    assert (len(curve["values"]) - 1) * curve["every"] < len(values) <= len(curve["values"]) * curve["every"]
    sizes = [min(curve["every"], len(values) - start) for start in range(0, len(values), curve["every"])]
    mean = np.average(curve["values"], weights=sizes)
    assert mean == pytest.approx(np.mean(values), rel=1e-4, abs=1e-2)


def test_a_report_that_fails_takes_nothing_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(folder: RunFolder) -> None:
        raise RuntimeError("nobody thought of this")

    monkeypatch.setattr("yardarm.pages.write_report", fail)
    result = toy_run(tmp_path / "run", n_episodes=1)
    assert result.counts.episodes == 2
    assert (tmp_path / "run" / "eval_info.json").exists()
    assert "nobody thought of this" in caplog.text
