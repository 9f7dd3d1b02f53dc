"""A disk that is full: one line, the arm is released, and finished episodes are kept."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.control.twin_arms import twin_arms
from tests.helpers import yardarm_here
from yardarm.recording.robot import plan as planning

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def _own_mounts() -> None:
    try:
        code = subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode
    except FileNotFoundError:
        code = 1
    if code:
        pytest.skip("this machine allows no disks of one's own")


@pytest.mark.usefixtures("_own_mounts")
def test_a_full_disk_ends_a_recording_in_one_line(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    with twin_arms(tmp_path) as arms:
        own = {"single_task": "wave", "fps": 20, "num_episodes": 5, "episode_time_s": 3, "reset_time_s": 0.5}
        words = [*arms.words, *(f"--dataset.{name}={value}" for name, value in own.items())]
        run = ["unshare", "-rm", sys.executable, "-m", "tests.recording.robot.full_disk", str(disk), *words]
        done = subprocess.run(run, cwd=REPOSITORY, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert answer["code"] == 1
        assert answer["err"].count("\n") == 1
        assert "No space left on device" in answer["err"]
        assert f"1 episode kept in {disk / 'cube'}" in answer["err"]
        assert answer["episodes"] == 1
        assert answer["problems"] == []
        assert arms.torques() == {0}


def test_a_disk_that_is_nearly_full_is_refused_before_an_arm_is_connected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "SPACE", 10**18)
    arms = ["--robot=so101_follower", "--robot.port=x", "--teleop=so101_leader", "--teleop.port=y"]
    answer = yardarm_here("record", *arms, f"--dataset.root={tmp_path / 'cube'}", "--dataset.single_task=wave")
    assert answer.returncode == 2
    assert "recording needs at least 1000000000000 MB: free some space" in answer.stderr
