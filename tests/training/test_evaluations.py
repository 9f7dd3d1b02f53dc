"""What a training tells of the evaluations beside it."""

from __future__ import annotations

import json
from pathlib import Path

import yardarm
from yardarm.tasks.metaworld import MetaworldConfig
from yardarm.training.evaluations import evaluation_point


def test_only_a_finished_run_is_a_point_of_the_curve(tmp_path: Path) -> None:
    run = tmp_path / "eval" / "step_000010"
    world = MetaworldConfig(task="reach-v3", episode_length=5)
    yardarm.evaluate("zero", world, n_episodes=2, output_dir=run)
    point = evaluation_point(10, run)
    assert point is not None
    assert (point["status"], point["run"], point["episodes"]) == ("finished", "eval/step_000010", 2)
    assert point["low"] <= point["rate"] <= point["high"]
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps({**manifest, "status": "interrupted"}))
    assert evaluation_point(10, run) is None
    assert evaluation_point(20, tmp_path / "eval" / "step_000020") is None
