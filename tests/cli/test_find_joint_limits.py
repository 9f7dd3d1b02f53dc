"""``yardarm find-joint-limits``: a leader moves the arm, or a person does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers import GOLDEN, yardarm_here
from tests.robots.answers import on_a_terminal, type_ahead
from tests.robots.moved_twin import moved_twin
from tests.robots.twin_port import twin_of
from yardarm.robots.motors import calibration_to_json, read_calibration_file

CALIBRATION = read_calibration_file(GOLDEN / "robots" / "so101_follower" / "calibration.json")
PAN = CALIBRATION["shoulder_pan"]
# A hand that turns with the shoulder, at 1 m.
URDF = """<robot name="one"> <link name="base"/> <link name="arm"/> <link name="hand"/>
  <joint name="shoulder_pan" type="revolute"> <parent link="base"/> <child link="arm"/> <axis xyz="0 0 1"/> </joint>
  <joint name="end" type="fixed"> <parent link="arm"/> <child link="hand"/> <origin xyz="1 0 0"/> </joint>
</robot>"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.json").write_text(calibration_to_json(CALIBRATION))
    (tmp_path / "arm.urdf").write_text(URDF)
    return tmp_path


def words(section: str, type: str, port: str, folder: Path) -> list[str]:
    own = {"type": type, "port": port, "id": "a", "calibration_dir": folder}
    return [f"--{section}.{name}={value}" for name, value in own.items()]


def numbers(name: str, text: str) -> list[float]:
    found = re.search(rf"{name} = \[(.*)\]", text)
    assert found, text
    return [float(number) for number in found[1].split(",")]


def test_by_hand_it_follows_until_ctrl_c(folder: Path) -> None:
    with moved_twin("so101_follower", CALIBRATION) as twin:
        pan = twin.servo(1)
        for servo in twin.chain.servos:
            servo.set("Torque_Enable", 1)
        middle = pan.shaft = (PAN.range_min + PAN.range_max) // 2 + PAN.homing_offset
        options = ("--teleop_time_s=600", "--warmup_time_s=0", f"--urdf_path={folder / 'arm.urdf'}")
        own = words("robot", "so101_follower", twin.path, folder)
        with on_a_terminal("find-joint-limits", *own, *options, "--target_frame_name=hand") as terminal:
            terminal.wait_for("Hold so_follower 'a': ENTER releases its motors")
            assert pan.get("Torque_Enable") == 1
            terminal.type("\n")
            terminal.wait_for(r"smallest\s+now\s+largest")
            assert pan.get("Torque_Enable") == 0
            for place in (middle + 512, middle - 512):
                pan.shaft = place
                twin.wait_until_seen()
            terminal.type("\x03")
            assert terminal.exit_code() == 0
    assert numbers("max_pos", terminal.output)[0] == pytest.approx(45, abs=0.2)
    assert numbers("min_pos", terminal.output)[0] == pytest.approx(-45, abs=0.2)
    assert numbers("max_ee", terminal.output)[:2] == pytest.approx([1, 0.7071], abs=5e-3)
    assert numbers("min_ee", terminal.output)[:2] == pytest.approx([0.7071, -0.7071], abs=5e-3)


def test_a_leader_moves_the_arm_and_all_is_released_at_the_end(folder: Path) -> None:
    with twin_of("so101_leader", CALIBRATION) as leader, twin_of("so101_follower", CALIBRATION) as follower:
        own = [
            *words("robot", "so101_follower", follower.path, folder),
            *words("teleop", "so101_leader", leader.path, folder),
        ]
        answer = yardarm_here("lerobot-find-joint-limits", *own, "--teleop_time_s=0.3", "--warmup_time_s=0.1")
        assert answer.returncode == 0, answer.stderr
        assert len(numbers("max_pos", answer.stdout)) == 6
        assert follower.servo(1).get("Goal_Position") != 0
        assert all(servo.get("Torque_Enable") == 0 for servo in follower.chain.servos)


def test_an_arm_that_is_not_calibrated_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    type_ahead(monkeypatch)
    with twin_of("so101_follower") as twin:
        answer = yardarm_here("find-joint-limits", *words("robot", "so101_follower", twin.path, tmp_path))
    assert answer.returncode == 2
    assert "run `yardarm calibrate` first" in answer.stderr


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([], "which arm? Give --robot.type=so101_follower"),
        (["--robot=so101_follower", "--robot.port=x", "--teleop_time_s=0"], "--teleop_time_s must be positive"),
        (["--robot=so101_follower", "--robot.port=x", "--warmup_time_s=-1"], "--warmup_time_s must not be negative"),
        (["--robot=so101_follower", "--robot.port=x", "--urdf_path=no.urdf"], "cannot read the URDF file no.urdf"),
        (["--robot=koch_follower", "--robot.port=x", "--urdf_path=no.urdf"], "add --robot.use_degrees=true"),
        (["--robot=so101_follower", "--robot.port=x", "--target_frame_name=hand"], "add --urdf_path=…, or omit it"),
        (["--robot=so101_follower", "--robot.port=x", "--urdf=x"], "unknown option '--urdf'"),
    ],
)
def test_a_mistake_gets_one_line(more: list[str], message: str) -> None:
    answer = yardarm_here("find-joint-limits", *more)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_twins_of_its_own_give_the_same_numbers_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "wave.csv").write_text("time,shoulder_pan\n0,0\n0.5,20\n1,-20\n")
    own = ["--robot.type=koch_follower", "--robot.port=twin", "--teleop.type=koch_leader", "--teleop.port=twin"]
    options = ["--twin.realtime=false", f"--twin.motion={tmp_path / 'wave.csv'}", "--twin.repeat=true"]
    times = ["--teleop_time_s=4", "--warmup_time_s=0.1"]
    first, second = (yardarm_here("find-joint-limits", *own, *options, *times) for _ in range(2))
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    assert numbers("max_pos", first.stdout)[0] > 10
    assert numbers("min_pos", first.stdout)[0] < -10
