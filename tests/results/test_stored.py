"""A run's results, read from its folder alone."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from tests.helpers import courses
from tests.pages.runs import toy_run
from tests.report.runs import stored, tasks_of, written
from yardarm.errors import UsageError
from yardarm.policies import PolicySpec
from yardarm.results import Journal, RunFolder, read_result
from yardarm.results.stored import SILENT_S


def test_what_is_read_is_what_was_returned(tmp_path: Path) -> None:
    result = toy_run(tmp_path / "run", confidence=0.9, interval="clopper_pearson", over_tasks="stratified")
    read = read_result(RunFolder(tmp_path / "run")).result
    assert courses(read) == courses(result)
    assert read.uncertainty == result.uncertainty
    assert [task.task.name for task in read.tasks] == [task.task.name for task in result.tasks]
    assert read.wall_s == pytest.approx(result.wall_s, abs=1.0)


def test_a_run_that_stopped_early_is_read_with_its_decision(tmp_path: Path) -> None:
    slowly = PolicySpec("toy_world:SlowlyPolicy")
    result = toy_run(tmp_path / "run", n_episodes=15, against=slowly, stop="decided")
    read = read_result(RunFolder(tmp_path / "run")).result
    assert result.stopping is not None
    assert result.stopping.decision == "a"
    assert read.stopping == result.stopping
    assert courses(read) == courses(result)
    assert read.against == tmp_path / "run" / "against"


def test_a_run_whose_process_was_killed_is_interrupted(tmp_path: Path) -> None:
    run = stored(tmp_path / "run", tasks_of({"reach-v3": "ss"}), status="running")
    assert run.status == "running"  # something was written a moment ago
    long_ago = time.time() - 2 * SILENT_S
    for path in (run.folder.journal, run.folder.manifest):
        os.utime(path, (long_ago, long_ago))
    assert run.status == "interrupted"
    with Journal(run.folder.journal):
        assert run.status == "running"  # a slow episode is no crash, as long as somebody holds the journal


def test_a_finished_run_that_has_lost_episodes_is_incomplete(tmp_path: Path) -> None:
    run = written(tmp_path / "run", tasks_of({"reach-v3": "ssff"}))
    assert read_result(RunFolder(run)).is_finished
    lines = (run / "episodes.jsonl").read_text().splitlines(keepends=True)
    (run / "episodes.jsonl").write_text("".join(lines[:2]))
    assert read_result(RunFolder(run)).status == "incomplete"
    assert not read_result(RunFolder(run)).is_finished


@pytest.mark.parametrize(
    "damage",
    [
        lambda run: (run / "manifest.json").unlink(),
        lambda run: (run / "manifest.json").write_text("{"),
        lambda run: (run / "manifest.json").write_text('{"plan": {}, "tasks": 3, "n_episodes": 2}'),
        lambda run: (run / "config.yaml").unlink(),
        lambda run: (run / "config.yaml").write_text("- a list"),
        lambda run: (run / "config.yaml").write_text("eval: {confidence: high}"),
        lambda run: (run / "config.yaml").write_text("eval: {interval: guessed}"),
        lambda run: (run / "episodes.jsonl").write_text("not json\n"),
        lambda run: (run / "episodes.jsonl").write_text('{"status": "success"}\n'),
        lambda run: (run / "config.yaml").write_bytes(b"\xff\xfe"),
    ],
)
def test_what_is_damaged_is_named(tmp_path: Path, damage: object) -> None:
    run = written(tmp_path / "run", tasks_of({"reach-v3": "ss"}))
    damage(run)  # type: ignore[operator]
    with pytest.raises(UsageError, match="run"):
        read_result(RunFolder(run))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"wall_s": float("nan")}, "wall_s must be a finite number, got nan"),
        ({"n_episodes": float("inf")}, "n_episodes must be a whole number, got inf"),
        ({"wall_s": "12"}, "wall_s must be a number, got '12'"),
        ({"n_episodes": 10**40}, "it has a number of 41 digits"),
        ({"command": "yardarm eval"}, "command must be a list, got 'yardarm eval'"),
    ],
)
def test_a_wrong_value_in_a_manifest_is_told_by_its_name(tmp_path: Path, change: dict, complaint: str) -> None:
    run = written(tmp_path / "run", tasks_of({"reach-v3": "ss"}), **change)
    with pytest.raises(UsageError, match=rf"manifest\.json is damaged: {complaint}"):
        read_result(RunFolder(run))


def test_a_reward_that_is_no_number_loses_no_result(tmp_path: Path) -> None:
    run = written(tmp_path / "run", tasks_of({"reach-v3": "ss"}))
    lines = [json.loads(line) for line in (run / "episodes.jsonl").read_text().splitlines()]
    lines[0]["sum_reward"] = float("nan")
    (run / "episodes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert read_result(RunFolder(run)).result.counts.successes == 2


def test_a_torn_last_line_is_passed_over(tmp_path: Path) -> None:
    run = written(tmp_path / "run", tasks_of({"reach-v3": "ssf"}))
    text = (run / "episodes.jsonl").read_text()
    (run / "episodes.jsonl").write_text(text + json.dumps({"policy": "torn"})[:-4])
    assert read_result(RunFolder(run)).result.counts.episodes == 3
