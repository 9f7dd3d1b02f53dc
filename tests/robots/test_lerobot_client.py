"""LeRobot itself drives twins: it calibrates, configures, observes, acts and records.

LEROBOT_PYTHON is the Python of an environment with ``lerobot[feetech]``.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import pty
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from yardarm.datasets import read_metadata
from yardarm.datasets.browsing import dimension_names, read_frames
from yardarm.robots import make_robot
from yardarm.robots.twins import Twin

LEROBOT_PYTHON = os.environ.get("LEROBOT_PYTHON", "")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not LEROBOT_PYTHON, reason="LEROBOT_PYTHON names no Python with LeRobot"),
]
PATIENCE_S = 120
TABLE = "|    MIN |"
# LeRobot gives up when an answer takes more than 50 ms, which happens on a busy machine.
TRIES, LOST = 4, "There is no status packet"
# As a person would: no joint is pressed against the table.
SWEEP = (
    {"shoulder_pan": -200.0, "wrist_flex": -200.0, "gripper": 0.0},
    {"shoulder_pan": 200.0, "wrist_flex": 200.0, "gripper": 100.0},
    {"shoulder_pan": 0.0, "wrist_flex": 0.0, "gripper": 50.0, "elbow_flex": -200.0},
    {"shoulder_lift": 200.0},
    {"shoulder_lift": -200.0, "elbow_flex": 0.0},
    {"shoulder_lift": -60.0, "elbow_flex": 200.0},
    {"shoulder_lift": 0.0, "elbow_flex": 0.0},
)
# What it shows first may have been waiting to be read.
BUFFERED_TABLES = 30
GOAL = {
    "shoulder_pan.pos": 20.0,
    "shoulder_lift.pos": -20.0,
    "elbow_flex.pos": 30.0,
    "wrist_flex.pos": 10.0,
    "wrist_roll.pos": 5.0,
    "gripper.pos": 40.0,
}
DRIVE = f"""
import json, sys, time
from lerobot.robots.so_follower import SO101FollowerConfig
from lerobot.robots.utils import make_robot_from_config

robot = make_robot_from_config(SO101FollowerConfig(port=sys.argv[1], id="twin"))
robot.connect()
calibrated = robot.is_calibrated
goal, start = {GOAL!r}, robot.get_observation()
for _ in range(120):
    sent = robot.send_action(goal)
    time.sleep(0.02)
reached = robot.get_observation()
robot.disconnect()
print(json.dumps(dict(calibrated=calibrated, start=start, sent=sent, reached=reached)))
"""


class LostAnswer(Exception):
    """LeRobot gave up."""


class Dialogue:
    """A command of LeRobot's on a terminal of its own: what it says is read all the time, or it would stop."""

    def __init__(self, words: list[str], env: dict[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=env)
        os.close(theirs)
        self.said = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_for(self, words: str) -> None:
        until = time.monotonic() + PATIENCE_S
        while words not in self.said and self.process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        self._check(words in self.said)

    def wait_for_tables(self, number: int) -> None:
        """Wait until it has shown its table so many times more."""
        wanted = self.said.count(TABLE) + number
        until = time.monotonic() + PATIENCE_S
        while self.said.count(TABLE) < wanted and self.process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        self._check(self.said.count(TABLE) >= wanted)

    def _check(self, went_on: bool) -> None:
        if not went_on and LOST in self.said:
            self.end()
            raise LostAnswer
        assert went_on, self.said[-3000:]

    def press_enter(self) -> None:
        os.write(self._ours, b"\n")

    def end(self) -> int:
        code = self.process.wait(PATIENCE_S)
        self._reader.join(5)
        os.close(self._ours)
        return code

    def _read(self) -> None:
        while True:
            try:
                self.said += os.read(self._ours, 4096).decode(errors="replace")
            except OSError:  # it has ended
                return


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lerobot")


@pytest.fixture(scope="module")
def env(home: Path) -> dict[str, str]:
    places = {"HF_HOME": home, "HF_LEROBOT_HOME": home / "lerobot", "HF_LEROBOT_CALIBRATION": home / "calibration"}
    return {**os.environ, **{name: str(path) for name, path in places.items()}, "HF_HUB_OFFLINE": "1"}


@pytest.fixture(scope="module")
def follower(env: dict[str, str]) -> Iterator[Twin]:
    with Twin("so101_follower") as twin:
        calibrate(twin, "robot", env)
        yield twin


@pytest.fixture(scope="module")
def leader(env: dict[str, str]) -> Iterator[Twin]:
    with Twin("so101_leader") as twin:
        calibrate(twin, "teleop", env)
        yield twin


def command(name: str) -> str:
    return str(Path(LEROBOT_PYTHON).parent / f"lerobot-{name}")


def calibrate(twin: Twin, section: str, env: dict[str, str]) -> None:
    """Go through LeRobot's dialogue, and move the twin's joints meanwhile as a person would."""
    words = [f"--{section}.type={twin.type}", f"--{section}.port={twin.port}", f"--{section}.id=twin"]
    for _ in range(TRIES):
        dialogue = Dialogue([command("calibrate"), *words], env)
        with contextlib.suppress(LostAnswer):
            answer(dialogue, twin)
            assert dialogue.end() == 0, dialogue.said[-3000:]
            twin.release()
            return
    pytest.fail("the machine is too busy for LeRobot: it waits 50 ms for an answer, once")


def answer(dialogue: Dialogue, twin: Twin) -> None:
    dialogue.wait_for("press ENTER")
    hold(twin, {name: 50.0 if name == "gripper" else 0.0 for name in twin.motors})
    dialogue.press_enter()
    dialogue.wait_for("Press ENTER to stop")
    for positions in SWEEP:
        hold(twin, positions)
        dialogue.wait_for_tables(BUFFERED_TABLES)
    dialogue.press_enter()
    dialogue.wait_for("Calibration saved")


def hold(twin: Twin, positions: dict[str, float]) -> None:
    """Move joints as far as they go, and wait until they are there."""
    twin.hold(positions)
    began = twin.seconds
    while twin.seconds < began + 1.5:
        time.sleep(0.05)


def run(words: list[str], env: dict[str, str], before: Callable[[], None] = lambda: None) -> str:
    """What a program prints that drives twins by LeRobot; it is tried again if an answer was late."""
    for _ in range(TRIES):
        before()
        done = subprocess.run(
            words, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S
        )
        if done.returncode == 0:
            return done.stdout
        assert LOST in done.stderr, done.stderr[-3000:]
    pytest.fail("the machine is too busy for LeRobot: it waits 50 ms for an answer, once")


@pytest.fixture(scope="module")
def driven(follower: Twin, env: dict[str, str]) -> dict[str, Any]:
    printed: dict[str, Any] = json.loads(run([LEROBOT_PYTHON, "-c", DRIVE, follower.port], env).splitlines()[-1])
    return printed


def test_lerobot_finds_the_ends_of_the_twins_joints(follower: Twin, home: Path) -> None:
    files = list((home / "calibration" / "robots").rglob("twin.json"))
    found = json.loads(files[0].read_text())
    assert list(found) == list(follower.motors)
    for name, travel in follower.body.travels.items():
        if name != "wrist_roll":
            swept = found[name]["range_max"] - found[name]["range_min"]
            assert swept == pytest.approx((travel.high - travel.low) * 4096 / (2 * math.pi), abs=80), (
                name
            )  # the stops are soft
    assert follower.servos["elbow_flex"].get("Max_Position_Limit") == found["elbow_flex"]["range_max"]


def test_lerobot_connects_without_asking_again_and_configures(follower: Twin, driven: dict[str, Any]) -> None:
    assert driven["calibrated"] is True
    gripper = follower.servos["gripper"]
    assert (gripper.get("P_Coefficient"), gripper.get("Max_Torque_Limit"), gripper.get("Overload_Torque")) == (
        16,
        500,
        25,
    )


def test_lerobot_drives_the_twin_to_a_goal(driven: dict[str, Any]) -> None:
    assert driven["sent"] == pytest.approx(GOAL)
    assert driven["reached"] == pytest.approx(GOAL, abs=2.0)
    assert driven["start"] != pytest.approx(GOAL, abs=5.0)


def test_lerobot_leaves_the_twin_without_torque(follower: Twin, driven: dict[str, Any]) -> None:
    assert not any(joint.has_torque for joint in follower.joint_states())


def test_what_lerobot_calibrated_yardarm_drives(follower: Twin, driven: dict[str, Any], home: Path) -> None:
    folder = next((home / "calibration" / "robots").rglob("twin.json")).parent
    with make_robot("so101_follower", port=follower.port, id="twin", calibration_dir=folder) as robot:
        assert robot.is_calibrated
        assert robot.get_observation().keys() == GOAL.keys()


def test_lerobot_records_a_leader_that_moves_a_follower(
    follower: Twin, leader: Twin, driven: dict[str, Any], home: Path, env: dict[str, str]
) -> None:
    leader.play(lambda seconds: {"shoulder_pan": 25 * math.sin(2 * seconds), "gripper": 50 + 40 * math.sin(seconds)})
    run(
        [
            command("record"),
            *("--robot.type=so101_follower", f"--robot.port={follower.port}", "--robot.id=twin"),
            *("--teleop.type=so101_leader", f"--teleop.port={leader.port}", "--teleop.id=twin"),
            *("--dataset.repo_id=me/twin", f"--dataset.root={home / 'recorded'}", "--dataset.single_task=Wave"),
            *("--dataset.num_episodes=1", "--dataset.episode_time_s=4", "--dataset.reset_time_s=0"),
            *("--dataset.fps=20", "--dataset.video=false", "--dataset.push_to_hub=false", "--play_sounds=false"),
        ],
        env,
        before=lambda: shutil.rmtree(home / "recorded", ignore_errors=True),
    )
    meta = read_metadata(home / "recorded")
    frames = read_frames(meta, meta.episodes, ["action", "observation.state"])
    pan = dimension_names(meta.info.features["action"]).index("shoulder_pan.pos")
    told, followed = frames["action"][:, pan], frames["observation.state"][:, pan]
    assert len(told) > 30
    assert told.max() - told.min() > 30
    assert followed.max() - followed.min() > 30, "the follower follows"
