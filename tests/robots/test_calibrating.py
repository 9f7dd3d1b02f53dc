"""A calibration asks for the middle and a sweep, and finds what LeRobot finds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.robots.scripted_port import ScriptedPort
from tests.robots.twin_port import TwinPort, twin_of
from yardarm.robots import bus_device, make_robot, make_teleoperator
from yardarm.robots.motors import MotorCalibration, read_calibration_file
from yardarm.robots.operator import Row

GOLDEN = Path(__file__).parents[1] / "golden" / "robots"


class ScriptedOperator:
    """Presses Enter at every question, and at the end of the sweep, after so many readings."""

    def __init__(self, readings: int) -> None:
        self.said: list[str] = []
        self.tables: list[Sequence[Row]] = []
        self._left = readings

    def say(self, text: str) -> None:
        self.said.append(text)

    def ask(self, text: str) -> str:
        self.said.append(text)
        return ""

    def show(self, rows: Sequence[Row]) -> None:
        self.tables.append(rows)

    def has_answered(self) -> bool:
        self._left -= 1
        return self._left <= 0


@pytest.fixture
def port() -> Iterator[ScriptedPort]:
    own = ScriptedPort()
    yield own
    own.close()


def factory_new(name: str, port: ScriptedPort, folder: Path) -> Any:
    make = make_teleoperator if "leader" in name else make_robot
    arm: Any = make(name, port=port.path, id="new", calibration_dir=folder)
    arm.bus.line.patience_s = 0.5
    arm.bus.connect(handshake=False)
    return arm


@pytest.mark.parametrize(
    ("name", "golden"), [("so101_follower", "so101_calibration"), ("koch_leader", "koch_leader_calibration")]
)
def test_the_bytes_and_the_file_are_lerobots(name: str, golden: str, port: ScriptedPort, tmp_path: Path) -> None:
    recorded = [json.loads(line) for line in (GOLDEN / golden / "wire.jsonl").read_text().splitlines()][1]
    arm = factory_new(name, port, tmp_path)
    sent = [request for request, _ in recorded["wire"]]
    readings = max(sent.count(request) for request in set(sent))  # the sweep asks the same again and again
    operator = ScriptedOperator(readings - 1)
    with port.following(recorded["wire"]):
        arm.calibrate(operator)
    assert port.sent == sent
    assert arm.calibration_fpath.read_bytes() == (GOLDEN / golden / "calibration.json").read_bytes()
    assert read_calibration_file(arm.calibration_fpath) == arm.calibration
    arm.bus.line.close()


class ImpatientOperator(ScriptedOperator):
    """Presses Ctrl-C at the first question."""

    def ask(self, text: str) -> str:
        raise KeyboardInterrupt


def test_ctrl_c_in_the_first_calibration_puts_back_what_the_motors_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = read_calibration_file(GOLDEN / "so101_follower" / "calibration.json")
    monkeypatch.setattr(bus_device, "TerminalOperator", lambda: ImpatientOperator(0))
    with twin_of("so101_follower", stored) as twin:
        before = [bytes(servo.memory[:40]) for servo in twin.chain.servos]
        arm = make_robot("so101_follower", port=twin.path, id="new", calibration_dir=tmp_path, watchdog=False)
        with pytest.raises(KeyboardInterrupt):
            arm.connect()
        assert [bytes(servo.memory[:40]) for servo in twin.chain.servos] == before


def arm_with_file(name: str, twin: TwinPort, folder: Path) -> Any:
    (folder / "a.json").write_bytes((GOLDEN / name / "calibration.json").read_bytes())
    make = make_teleoperator if "leader" in name else make_robot
    return make(name, port=twin.path, id="a", calibration_dir=folder, watchdog=False)


def differing(name: str, **changes: int) -> dict[str, MotorCalibration]:
    """The calibration of the recording, with another elbow."""
    own = read_calibration_file(GOLDEN / name / "calibration.json")
    return {**own, "elbow_flex": replace(own["elbow_flex"], **changes)}


@pytest.mark.parametrize("name", ["so101_follower", "koch_follower", "koch_leader"])
def test_an_arm_that_holds_is_released_before_the_files_calibration_is_written(name: str, tmp_path: Path) -> None:
    with twin_of(name, differing(name, homing_offset=700)) as twin:
        arm = arm_with_file(name, twin, tmp_path)
        with arm.at_rest():
            arm.bus.enable_torque()
            sent: list[bytes] = []
            arm.bus.line._on_bytes = lambda is_sent, content: sent.append(content) if is_sent else None
            arm.calibrate(ScriptedOperator(0))
            assert sent[0] == arm.bus.protocol.write(1, arm.bus._register("Torque_Enable", ["gripper"]).address, b"\0")
            assert arm.is_calibrated
            assert [servo.get("Torque_Enable") for servo in twin.chain.servos] == [0] * 6


@pytest.mark.parametrize("name", ["koch_follower", "koch_leader"])
def test_enter_puts_a_wrong_direction_right(name: str, tmp_path: Path) -> None:
    with twin_of(name, differing(name, drive_mode=int(name == "koch_follower"))) as twin:
        arm = arm_with_file(name, twin, tmp_path)
        with arm.at_rest():
            assert not arm.is_calibrated
            arm.calibrate(ScriptedOperator(0))
            assert arm.is_calibrated


class SweepingOperator(ScriptedOperator):
    """Moves the joints of a twin while the table is shown."""

    def __init__(self, twin: TwinPort) -> None:
        super().__init__(6)
        self._twin, self._moves = twin, [500, 500, -500, -500, -500]

    def show(self, rows: Sequence[Row]) -> None:
        for servo in self._twin.chain.servos:
            servo.shaft += self._moves[0] if self._moves else 0
        self._moves = self._moves[1:]


def test_a_new_calibration_puts_a_wrong_direction_right(tmp_path: Path) -> None:
    with twin_of("koch_follower", differing("koch_follower", drive_mode=1)) as twin:
        arm: Any = make_robot("koch_follower", port=twin.path, id="new", calibration_dir=tmp_path, watchdog=False)
        with arm.at_rest():
            arm.calibrate(SweepingOperator(twin))
            assert arm.calibration["elbow_flex"].drive_mode == 0
            assert arm.is_calibrated
