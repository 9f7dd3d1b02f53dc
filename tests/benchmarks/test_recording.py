"""How recordings are judged from outside, and how measurements are kept."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))

import campaign
from image_server import CAMERAS, file_cameras, published_cameras
from recording import OURS, OURS_WITH_FILES, YARDARM, two_arms
from recording_run import Recorder, Setting, pace_of, record
from report import Figure, Section
from usage import TreeUsage

FPS = 20
ON_TIME = [10 + number / FPS for number in range(40)]


def test_goals_that_keep_their_rate_are_neither_late_nor_missed() -> None:
    pace = pace_of(ON_TIME, FPS, seconds=2)
    assert (pace.turns, pace.late, pace.missed) == (40, 0, 0)
    assert pace.error_worst_s == pytest.approx(0, abs=1e-9)


def test_a_pause_is_one_late_turn_and_the_missed_ones_before_it() -> None:
    pace = pace_of(ON_TIME[:10] + ON_TIME[13:], FPS, seconds=2)
    assert (pace.turns, pace.late, pace.missed) == (37, 1, 3)
    assert pace.error_worst_s == pytest.approx(3 / FPS)


def test_a_loop_that_drifts_misses_turns_though_none_is_late() -> None:
    slow = [number * 1.05 / FPS for number in range(38)]
    pace = pace_of(slow, FPS, seconds=2)
    assert (pace.late, pace.missed) == (0, 2)
    assert pace.error_p99_s == pytest.approx(0.05 / FPS)


def test_a_recording_that_never_moved_the_arm_missed_everything() -> None:
    assert pace_of([], FPS, seconds=2).missed == 40


def test_what_processes_use_is_counted_after_they_have_ended() -> None:
    work = "import time; end = time.process_time() + 0.4\nwhile time.process_time() < end: pass"
    nested = f"import subprocess, sys, time; subprocess.run([sys.executable, '-c', {work!r}]); time.sleep(0.3)"
    process = subprocess.Popen([sys.executable, "-c", nested])
    with TreeUsage(process.pid, every_s=0.02) as usage:
        process.wait(60)
    assert 0.3 < usage.cpu_since(0) < 2
    assert usage.cpu_since(time.monotonic()) == 0
    assert usage.peak_rss > 5e6


def test_a_measurement_that_was_kept_is_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs: list[str] = []

    def measure() -> Section:
        runs.append("a")
        return Section("a", [Figure("speed", "3", "", "2", True)], ["fine"], "| x |")

    for only in ("a", "a", "a,slow"):
        words = ["bench.py", f"--only={only}", f"--keep={tmp_path / 'kept'}", f"--output={tmp_path / 'out.md'}"]
        monkeypatch.setattr(sys, "argv", words)
        slow = {"slow": lambda: Section("slow")}
        campaign.run_campaign("Title", "", "", {"a": measure, **slow}, {"a": measure}, on_request=["slow"])
    assert runs == ["a"]
    assert "| speed | 3 |" in capsys.readouterr().out
    written = (tmp_path / "out.md").read_text()
    assert "in parts" in written
    assert "| x |" in written
    assert json.loads((tmp_path / "kept" / "full" / "a.json").read_text())["title"] == "a"


@pytest.mark.slow
def test_both_kinds_of_cameras_are_recorded_and_nothing_is_lost() -> None:
    setting = Setting(FPS, "h264", "veryfast", episode_s=1.0, episodes=2)
    with two_arms() as (folder, arms), published_cameras(FPS) as published:
        for name, cameras in ((OURS, published), (OURS_WITH_FILES, file_cameras(folder, FPS))):
            outcome = record(Recorder(name, YARDARM, cameras), setting, arms, folder)
            assert not outcome.fault
            assert outcome.rows == outcome.pace.turns > 0
            assert (outcome.pictures, outcome.lost) == (len(CAMERAS) * outcome.rows, 0)
            assert outcome.cpu_s > 0
            assert outcome.peak_mb > 50
