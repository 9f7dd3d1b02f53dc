"""`yardarm robot log` shows what went over an arm's cable, and plays it again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.helpers import GOLDEN, yardarm_here
from tests.robots.twin_port import twin_of
from yardarm.robots import make_robot
from yardarm.robots.motors import FeetechBus, read_calibration_file

SO101 = GOLDEN / "robots" / "so101_follower"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "arm.jsonl"
    with twin_of("so101_follower", read_calibration_file(SO101 / "calibration.json")) as twin:
        options: dict[str, Any] = {"id": "calibration", "calibration_dir": SO101, "log": path, "watchdog": False}
        arm: Any = make_robot("so101_follower", port=twin.path, **options)
        arm.bus.line.patience_s = 0.5
        twin.servo(2).error = 0x04
        with arm:
            arm.get_observation()
    return path


def test_it_is_shown(log: Path) -> None:
    shown = yardarm_here("robot", "log", log)
    assert shown.returncode == 0
    assert "sync read Present_Position 1–6" in shown.stdout
    assert "shoulder_lift REPORTS overheating" in shown.stdout
    assert "answered by all: median" in shown.stdout
    faults = yardarm_here("robot", "log", log, "--faults").stdout
    assert faults.count("REPORTS overheating") == 1  # once is enough
    summary = yardarm_here("robot", "log", log, "--summary").stdout.splitlines()
    assert len(summary) == 3
    assert summary[-1].startswith("reported: shoulder_lift overheating ")


def test_it_is_played_again(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    again = yardarm_here("robot", "log", log, "--replay")
    assert again.returncode == 0, again.stdout
    assert "all gave the recorded results" in again.stdout
    decoded = FeetechBus._decoded
    monkeypatch.setattr(FeetechBus, "_decoded", lambda self, *words: decoded(self, *words) * 2)
    other = yardarm_here("robot", "log", log, "--replay")
    assert other.returncode == 1
    assert "gave a different result" in other.stdout
    assert "  now:  " in other.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "takes one file, got 0"),
        (("missing.jsonl",), "cannot read the log missing.jsonl"),
        (("a.jsonl", "--fault"), "unknown option '--fault'; did you mean 'faults'?"),
        (("a.jsonl", "--faults", "--replay"), "give one of --faults, --summary, --replay, not several"),
    ],
)
def test_mistakes_get_one_line(words: tuple[str, ...], message: str) -> None:
    answer = yardarm_here("robot", "log", *words)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert len(answer.stderr.splitlines()) == 1


def test_help_explains_it() -> None:
    assert "usage: yardarm robot log FILE" in yardarm_here("robot", "log", "--help").stdout
