"""A disk that is full: one line, the arm is released, and what has ended is saved later."""

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
def test_a_full_disk_loses_no_episode_that_has_ended(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    with twin_arms(tmp_path) as arms:
        own = {"single_task": "wave", "fps": 20, "num_episodes": 5, "episode_time_s": 2, "reset_time_s": 20}
        words = [*arms.words, *(f"--dataset.{name}={value}" for name, value in own.items())]
        run = ["unshare", "-rm", sys.executable, "-m", "tests.recording.robot.full_disk", str(disk), *words]
        done = subprocess.run(run, cwd=REPOSITORY, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert arms.torques() == {0}
    full, resumed = answer["full"], answer["resumed"]
    assert full["code"] == 1
    *_, last = full["err"].splitlines()  # on a busy machine, answers of the twins may be missed before
    assert "No space left on device" in last
    assert f"; 1 episode kept in {disk / 'cube'}; 1 more is saved first when you record with --resume=true" in last
    assert "Traceback" not in full["err"]
    assert resumed["code"] == 0, resumed["err"]
    lines = resumed["out"].splitlines()
    assert lines[0] == "saving 1 episode that is recorded, but not in the dataset yet"
    assert lines[1].startswith("episode 1 is saved: ")
    assert lines[2] == f"recording to {disk / 'cube'}, which has 2 episodes"
    assert len(resumed["lengths"]) == 3
    assert full["problems"] + resumed["problems"] + answer["left"] == []


def test_a_disk_that_is_nearly_full_is_refused_before_an_arm_is_connected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "SPACE", 10**18)
    arms = ["--robot=so101_follower", "--robot.port=x", "--teleop=so101_leader", "--teleop.port=y"]
    answer = yardarm_here("record", *arms, f"--dataset.root={tmp_path / 'cube'}", "--dataset.single_task=wave")
    assert answer.returncode == 2
    assert "recording needs at least 1000000000000 MB: free some space" in answer.stderr
