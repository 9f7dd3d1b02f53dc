"""``yardarm robot info``: how the motors are, what is wrong and what to do; nothing is changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import GOLDEN, yardarm_here
from tests.robots.twin_port import TwinPort, twin_of
from yardarm.robots.motors import calibration_to_json, read_calibration_file

CALIBRATION = read_calibration_file(GOLDEN / "robots" / "so101_follower" / "calibration.json")
KOCH = read_calibration_file(GOLDEN / "robots" / "koch_follower" / "calibration.json")


def info(twin: TwinPort, folder: Path, *more: str, type: str = "so101_follower") -> Any:
    own = (f"--robot={type}", f"--robot.port={twin.path}", "--robot.id=a", f"--robot.calibration_dir={folder}")
    return yardarm_here("robot", "info", *own, *more)


def in_the_middle(twin: TwinPort) -> None:
    for servo, own in zip(twin.chain.servos, CALIBRATION.values(), strict=True):
        servo.shaft = (own.range_min + own.range_max) // 2 + own.homing_offset


def test_a_good_arm_is_shown_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(calibration_to_json(CALIBRATION))
    with twin_of("so101_follower", CALIBRATION) as twin:
        in_the_middle(twin)
        twin.servo(3).set("Torque_Enable", 1)
        info(twin, tmp_path)  # what it measures is in its memory now
        before = [bytes(servo.memory) for servo in twin.chain.servos]
        answer = info(twin, tmp_path)
        assert [bytes(servo.memory) for servo in twin.chain.servos] == before
    assert answer.returncode == 0, answer.stdout
    lines = answer.stdout.splitlines()
    assert lines[0] == f"{twin.path}: so_follower 'a'"
    elbow = next(line for line in lines if "elbow_flex" in line)
    assert elbow.split()[:8] == ["elbow_flex", "3", "sts3215", "3.10", "12.1", "31", "0%", "on"]
    assert "├──────●──────┤" in elbow
    assert "✓ nothing is wrong" in answer.stdout


def unplug(*ids: int) -> Callable[[TwinPort], None]:
    def wrong(twin: TwinPort) -> None:
        for id in ids:
            twin.chain.servos.remove(twin.servo(id))

    return wrong


def setting(id: int, **registers: int) -> Callable[[TwinPort], None]:
    def wrong(twin: TwinPort) -> None:
        servo = twin.servo(id)
        for name, value in registers.items():
            servo.set(name, value)

    return wrong


def overload(twin: TwinPort) -> None:
    twin.servo(6).error = 0x20


def unsteady(twin: TwinPort) -> None:
    twin.servo(3).read = lambda address, size: b""


def beyond(twin: TwinPort) -> None:
    twin.servo(2).shaft = CALIBRATION["shoulder_lift"].range_max + CALIBRATION["shoulder_lift"].homing_offset + 50


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (unplug(3), "elbow_flex (id 3) does not answer: check both plugs of its cable"),
        (
            unplug(5, 6),
            "wrist_roll (id 5) does not answer: check the cable from wrist_flex to wrist_roll; all motors after it are "
            "missing, too\n✗ gripper (id 6) does not answer: fix wrist_roll first",
        ),
        (unplug(6), "gripper (id 6) does not answer: check the cable from wrist_roll to gripper, and its id"),
        (unplug(1, 2, 3, 4, 5, 6), "no motor answers: switch on the power supply"),
        (
            setting(5, ID=9),
            "wrist_roll (id 5) does not answer: it may have another id, see below\n"
            "✗ motors answer that do not belong to this arm: id 9 (sts3215): connect each of them alone",
        ),
        (setting(4, Model_Number=2825), "wrist_flex (id 4) is a sts3250, not a sts3215"),
        (setting(4, Model_Number=7), "wrist_flex is an unknown model 7"),
        (setting(2, Firmware_Minor_Version=9), "different firmware (3.10: shoulder_pan, elbow_flex"),
        (setting(2, Homing_Offset=7), "the calibration of shoulder_lift is not that of"),
        (setting(1, Present_Temperature=60), "shoulder_pan (id 1) is 60 °C hot, and switches itself off at 70 °C"),
        (setting(1, Present_Voltage=38), "shoulder_pan (id 1) has 3.8 V, and needs 4.0 V: check the power supply"),
        (setting(1, Present_Voltage=150), "has 15.0 V, and is rated for 14.0 V at most: switch the power off at once"),
        (setting(6, Present_Voltage=100), "gripper has 10.0 V where others have 12.1 V: check the plugs"),
        (setting(6, Present_Load=900), "gripper (id 6) pulls with 90% of its force"),
        (unsteady, "elbow_flex does not always answer (reading Model_Number: no answer"),
        (overload, "gripper (id 6) reports overload"),
        (beyond, "shoulder_lift (id 2) is at"),
    ],
)
def test_what_is_wrong_is_named_with_what_to_do(
    wrong: Callable[[TwinPort], None], message: str, tmp_path: Path
) -> None:
    (tmp_path / "a.json").write_text(calibration_to_json(CALIBRATION))
    with twin_of("so101_follower", CALIBRATION) as twin:
        in_the_middle(twin)
        wrong(twin)
        answer = info(twin, tmp_path)
    assert answer.returncode == 1
    assert message in answer.stdout
    assert "Traceback" not in answer.stderr


def test_a_dynamixel_arm_tells_its_hardware_errors(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(calibration_to_json(KOCH))
    with twin_of("koch_follower", KOCH) as twin:
        twin.servo(3).set("Hardware_Error_Status", 0x20)
        answer = info(twin, tmp_path, type="koch_follower")
    assert "elbow_flex (id 3) reports overload" in answer.stdout


def test_a_koch_with_motors_for_12_and_for_5_volts_is_good(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(calibration_to_json(KOCH))
    with twin_of("koch_follower", KOCH) as twin:
        answer = info(twin, tmp_path, type="koch_follower")
        assert " 5.0 " in answer.stdout
        assert "where others have" not in answer.stdout
        twin.servo(6).set("Present_Input_Voltage", 38)
        assert "gripper has 3.8 V where others have 5.0 V" in info(twin, tmp_path, type="koch_follower").stdout


def test_a_damaged_calibration_is_answered_with_what_helps(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("junk")
    own = ("--robot=so101_follower", "--robot.port=x", "--robot.id=a", f"--robot.calibration_dir={tmp_path}")
    for command in (("robot", "info"), ("calibrate",)):
        answer = yardarm_here(*command, *own)
        assert answer.returncode == 2
        assert "restore the file, or delete it and calibrate again" in answer.stderr


def test_an_arm_without_a_calibration_is_shown_too(tmp_path: Path) -> None:
    with twin_of("so101_follower") as twin:
        answer = info(twin, tmp_path)
    assert f"there is no calibration at {tmp_path / 'a.json'}: run `yardarm calibrate`" in answer.stdout
    assert "├──────●──────┤ 4095" in answer.stdout


def test_json_has_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(calibration_to_json(CALIBRATION))
    with twin_of("so101_follower", CALIBRATION) as twin:
        in_the_middle(twin)
        twin.servo(1).set("Present_Temperature", 60)
        [arm] = json.loads(info(twin, tmp_path, "--json").stdout)["arms"]
    assert [motor["name"] for motor in arm["motors"]] == list(CALIBRATION)
    assert arm["motors"][0]["state"]["celsius"] == 60
    assert arm["problems"][0]["to_do"] == "let it cool down"


def test_both_arms_of_a_pair_are_shown(tmp_path: Path) -> None:
    with twin_of("so101_follower") as left, twin_of("so101_follower") as right:
        ports = (f"--robot.left_arm_config.port={left.path}", f"--robot.right_arm_config.port={right.path}")
        own = ("--robot=bi_so_follower", "--robot.id=two", f"--robot.calibration_dir={tmp_path}")
        answer = yardarm_here("robot", "info", *own, *ports)
    assert f"{left.path}: so_follower 'two_left'" in answer.stdout
    assert f"{right.path}: so_follower 'two_right'" in answer.stdout


def test_without_a_type_it_looks_at_whatever_answers() -> None:
    with twin_of("koch_leader") as twin:
        answer = yardarm_here("robot", "info", f"--port={twin.path}")
    assert f"{twin.path}: 6 Dynamixel motors (xl330-m077), ids 1–6: koch_leader" in answer.stdout
    assert "motor 6" in answer.stdout
    assert answer.returncode == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["robot", "inof"], "unknown command 'robot inof'; did you mean 'info'?"),
        (["robot", "info", "--robot=so101_follower", "--port=x"], "--port is for an arm of unknown type"),
        (["robot", "info", "--robot=so101_follower", "--teleop=so101_leader"], "is for one device"),
        (["robot", "info", "--robot=lekiwi"], "robot 'lekiwi' is not supported yet"),
        (["robot", "info", "--robot.port=x"], "--robot.type is missing; use one of"),
        (["robot", "info", "--robot=so101_follower", "--robot.prot=x"], "`yardarm robot info --help` lists all"),
        (["robot", "info", "--robot=so101_follower", "--robot.port=x", "--jsn"], "unknown option '--jsn'"),
        (["calibrate"], "which arm? Give --robot.type=so101_follower"),
        (["setup-motors", "--robot.discover_packages_path=my.robots"], "register themselves by an entry point"),
        (
            ["calibrate", "--robot=so101_follower", "--robot.port=x", "--robot.cameras={front: {}}"],
            "--robot.cameras.front.type is missing; use one of file, ",
        ),
    ],
)
def test_a_mistake_gets_one_line(words: list[str], message: str) -> None:
    answer = yardarm_here(*words)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_help_lists_the_options_of_the_chosen_type() -> None:
    assert "--robot.position_p_coefficient" in yardarm_here("calibrate", "--robot=so101_follower", "--help").stdout
    assert "--teleop.gripper_open_pos" in yardarm_here("robot", "info", "--teleop.type=koch_leader", "-h").stdout
    pair = yardarm_here("setup-motors", "--robot=bi_so_follower", "--help").stdout
    assert "--robot.left_arm_config.port" in pair
    assert "--robot.left_arm_config.id" not in pair


def test_a_file_may_say_which_arm_it_is(tmp_path: Path) -> None:
    with twin_of("so101_follower") as twin:
        file = tmp_path / "arm.yaml"
        file.write_text(f"robot: {{type: so101_follower, port: {twin.path}, id: blue, calibration_dir: {tmp_path}}}\n")
        assert "so_follower 'blue'" in yardarm_here("robot", "info", f"--config_path={file}").stdout
        assert "so_follower 'red'" in yardarm_here("robot", "info", f"--config_path={file}", "--robot.id=red").stdout
