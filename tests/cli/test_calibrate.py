"""``yardarm calibrate``: the dialogue on a terminal and with answers from a pipe, its end, and its undoing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import GOLDEN, yardarm_here
from tests.robots.answers import on_a_terminal, type_ahead
from tests.robots.moved_twin import SWEEP, MovedTwin, moved_twin
from yardarm.robots import make_robot
from yardarm.robots.motors import MotorCalibration, calibration_to_json, read_calibration_file

CALIBRATION = read_calibration_file(GOLDEN / "robots" / "so101_follower" / "calibration.json")
SWEPT = MotorCalibration(1, 0, 1, 599, 3499)


def words(twin: MovedTwin, folder: Path, *more: str) -> list[str]:
    """The command for an arm whose calibration is in a folder."""
    own = ("--robot=so101_follower", f"--robot.port={twin.path}", "--robot.id=a", f"--robot.calibration_dir={folder}")
    return ["calibrate", *own, *more]


def in_motors(twin: MovedTwin) -> dict[str, MotorCalibration]:
    arm = make_robot("so101_follower", port=twin.path, id="reader")
    arm.bus.connect()  # type: ignore[attr-defined]
    found: dict[str, MotorCalibration] = arm.bus.read_calibration()  # type: ignore[attr-defined]
    arm.bus.disconnect()  # type: ignore[attr-defined]
    return found


def test_on_a_terminal_a_table_shows_what_is_missing_and_a_new_arm_is_calibrated(tmp_path: Path) -> None:
    with moved_twin("so101_follower") as twin, on_a_terminal(*words(twin, tmp_path)) as terminal:
        terminal.wait_for("Move so_follower 'a' to the middle of all its joints")
        terminal.type("\n")
        terminal.wait_for(r"joint\s+smallest\s+now\s+largest\s+travel")
        terminal.wait_for(r"elbow_flex\s+2047\s+2047\s+2047\s+0°\s+elbow_flex: only 0° so far")
        terminal.type("\n")
        terminal.wait_for("Not yet: .*elbow_flex: only 0° so far")
        twin.move(*SWEEP)
        terminal.wait_for(r"elbow_flex\s+599\s+2047\s+3499\s+255°")
        terminal.type("\n")
        assert terminal.exit_code() == 0
        assert "Saved the calibration" in terminal.output
        assert all(servo.get("Torque_Enable") == 0 for servo in twin.chain.servos)
        found = read_calibration_file(tmp_path / "a.json")
        assert found["shoulder_pan"] == SWEPT
        assert found["wrist_roll"] == MotorCalibration(5, 0, 1, 0, 4095)
        assert in_motors(twin) == found


def test_answers_may_come_from_a_pipe(tmp_path: Path) -> None:
    with moved_twin("so101_follower") as twin:
        process = subprocess.Popen(
            [sys.executable, "-m", "yardarm", *words(twin, tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdin
        assert process.stdout
        process.stdin.write("\n")
        process.stdin.flush()
        while "Now move each joint" not in process.stdout.readline():
            pass
        twin.move(*SWEEP)
        rest, _ = process.communicate("\n", timeout=60)
    assert process.returncode == 0
    assert "smallest" not in rest  # nobody looks at a table
    assert read_calibration_file(tmp_path / "a.json")["shoulder_pan"] == SWEPT


@pytest.mark.parametrize("after", ["to the middle", "Now move each joint"])
def test_ctrl_c_leaves_the_motors_with_what_they_had(after: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(calibration_to_json(CALIBRATION))
    with (
        moved_twin("so101_follower", CALIBRATION) as twin,
        on_a_terminal(*words(twin, tmp_path)) as terminal,
    ):
        terminal.wait_for("have the calibration of .* Press ENTER to keep it, or type c")
        terminal.type("c\n")
        terminal.wait_for("to the middle")
        if after != "to the middle":
            terminal.type("\n")
            terminal.wait_for(after)
        assert twin.servo(2).get("Max_Position_Limit") == 4095
        terminal.type("\x03")
        assert terminal.exit_code() == 130
        assert "have the one before again" in terminal.output
        assert in_motors(twin) == {name: CALIBRATION[name] for name in CALIBRATION}
    assert read_calibration_file(tmp_path / "a.json") == CALIBRATION


def test_enter_keeps_what_is_there_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.json").write_text(calibration_to_json(CALIBRATION))
    with moved_twin("so101_follower", CALIBRATION) as twin:
        before = [bytes(servo.memory[:40]) for servo in twin.chain.servos]
        type_ahead(monkeypatch, "")
        answer = yardarm_here(*words(twin, tmp_path))
        assert answer.returncode == 0, answer.stderr
        assert [bytes(servo.memory[:40]) for servo in twin.chain.servos] == before
    assert not (tmp_path / "a.json.previous").exists()


def test_enter_writes_the_files_calibration_into_motors_that_have_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.json").write_text(calibration_to_json(CALIBRATION))
    with moved_twin("so101_follower") as twin:
        type_ahead(monkeypatch, "")
        answer = yardarm_here(*words(twin, tmp_path))
        assert "do not have the calibration" in answer.stdout
        assert in_motors(twin) == CALIBRATION


def test_answers_that_end_too_early_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.json").write_text(calibration_to_json(CALIBRATION))
    with moved_twin("so101_follower", CALIBRATION) as twin:
        type_ahead(monkeypatch, "c")
        answer = yardarm_here(*words(twin, tmp_path))
        assert answer.returncode == 2
        assert "the answers ended too early" in answer.stderr
        assert in_motors(twin) == CALIBRATION


def test_a_calibration_is_undone_and_that_is_undone_again(tmp_path: Path) -> None:
    older = {name: MotorCalibration(own.id, 0, 10, 100, 4000) for name, own in CALIBRATION.items()}
    (tmp_path / "a.json").write_text(calibration_to_json(CALIBRATION))
    (tmp_path / "a.json.previous").write_text(calibration_to_json(older))
    with moved_twin("so101_follower", CALIBRATION) as twin:
        for now, before in ((older, CALIBRATION), (CALIBRATION, older)):
            answer = yardarm_here(*words(twin, tmp_path, "--undo=true"))
            assert answer.returncode == 0, answer.stderr
            assert in_motors(twin) == now
            assert read_calibration_file(tmp_path / "a.json") == now
            assert read_calibration_file(tmp_path / "a.json.previous") == before


def test_there_must_be_something_to_go_back_to(tmp_path: Path) -> None:
    with moved_twin("so101_follower") as twin:
        answer = yardarm_here(*words(twin, tmp_path, "--undo"))
    assert answer.returncode == 2
    assert "there is no calibration of so_follower 'a' to go back to" in answer.stderr


def test_an_arm_that_needs_no_dialogue_asks_nothing(tmp_path: Path) -> None:
    with moved_twin("omx_follower") as twin:
        answer = yardarm_here(
            "lerobot-calibrate",
            "--robot.type=omx_follower",
            f"--robot.port={twin.path}",
            f"--robot.calibration_dir={tmp_path}",
        )
    assert answer.returncode == 0, answer.stderr
    assert read_calibration_file(tmp_path / "None.json")["gripper"] == MotorCalibration(16, 0, 0, 0, 4095)
