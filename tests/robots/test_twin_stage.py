"""Any command can bring its own twins: ``--robot.port=twin``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from yardarm.errors import UsageError
from yardarm.robots import HostClock, make_robot, robot_from_data, teleoperator_from_data
from yardarm.robots.motors import calibration_to_json
from yardarm.robots.twins import Stage, Twin, TwinTime


@pytest.fixture(autouse=True)
def _places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("HF_LEROBOT_CALIBRATION", str(tmp_path / "calibration"))


def pair(**twin: Any) -> dict[str, Any]:
    return {
        "robot": {"type": "koch_follower", "port": "twin"},
        "teleop": {"type": "koch_leader", "port": "twin"},
        "twin": twin,
    }


def test_twins_are_driven_without_a_question_and_leave_no_file(tmp_path: Path) -> None:
    data = pair(realtime="false")
    with Stage.from_data(data, "teleoperate") as stage:
        assert "twin" not in data
        assert isinstance(stage.clock, TwinTime)
        robot, leader = robot_from_data(data["robot"]), teleoperator_from_data(data["teleop"])
        with leader, robot:
            robot.send_action({**leader.get_action(), "shoulder_pan.pos": 20.0})
            stage.clock.wait_until(stage.clock.now() + 2.0)
            assert robot.get_observation()["shoulder_pan.pos"] == pytest.approx(20.0, abs=1.5)
        kept = Path(data["robot"]["calibration_dir"])
    assert not kept.exists()
    assert not (tmp_path / "calibration").exists()


def test_the_folder_of_a_killed_command_is_removed_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    killed, young = (tmp_path / f"yardarm-twin-{os.geteuid()}-{name}" for name in ("killed", "young"))
    for folder in (killed, young):
        folder.mkdir()
        (folder / "None.json").write_text("{}")
    os.utime(killed, (0, 0))
    data = pair()
    with Stage.from_data(data, "teleoperate"):
        own = [Path(data[section]["calibration_dir"]) for section in ("robot", "teleop")]
        for folder in own:
            os.utime(folder, (0, 0))
        with Stage.from_data(pair(), "teleoperate"):  # another command, at the same time
            assert all((folder / "None.json").is_file() for folder in own)
        assert not killed.exists()
    assert [*tmp_path.glob("yardarm-twin-*")] == [young]


def test_a_twin_with_an_id_keeps_its_calibration(tmp_path: Path) -> None:
    for _ in range(2):  # the second finds the first one's file
        data: dict[str, Any] = {"robot": {"type": "koch_follower", "port": "twin", "id": "blue"}}
        with Stage.from_data(data, "replay") as stage, robot_from_data(data["robot"]) as robot:
            assert robot.is_calibrated
            assert isinstance(stage.clock, HostClock)
    assert (tmp_path / "calibration" / "robots" / "koch_follower" / "blue.json").is_file()


def test_a_twin_elsewhere_brings_its_time() -> None:
    with Twin("koch_follower", calibrated=True, real_time=False) as twin:
        data = {"robot": {"type": "koch_follower", "port": twin.port}}
        with Stage.from_data(data, "record") as stage:
            stage.clock.wait_until(0.25)
        assert twin.seconds == pytest.approx(0.25)


def test_real_arms_need_no_stage() -> None:
    data = {"robot": {"type": "koch_follower", "port": "/dev/ttyACM0"}}
    with Stage.from_data(data, "record") as stage:
        assert isinstance(stage.clock, HostClock)
        assert not stage.twins
        stage.reset()
    assert data["robot"]["port"] == "/dev/ttyACM0"


def test_twins_of_both_kinds_of_time_are_refused() -> None:
    with Twin("koch_follower", real_time=False) as twin:
        data = pair()
        data["robot"]["port"] = twin.port
        with pytest.raises(UsageError, match="the teleop's passes by itself"), Stage.from_data(data, "record"):
            pass


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"robot": {"type": "koch_follower", "port": "/dev/no"}, "twin": {"realtime": "false"}}, "is for twins"),
        ({"robot": {"type": "koch_follower", "port": "twin"}, "twin": {"speed": "2"}}, "speed"),
        (
            {"robot": {"type": "koch_follower", "port": "twin"}, "twin": {"scene": "cube_box"}},
            "did you mean 'cube_and_box'",
        ),
        ({"robot": {"type": "koch_follower", "port": "/dev/no"}, "twin": {"scene": "cube_and_box"}}, "port=twin"),
        ({"robot": {"type": "koch_follower", "port": "twin"}, "twin": {"scene": "cube_and_box"}}, "published model"),
        (
            {"robot": {"type": "koch_follower", "port": "/dev/no"}, "twin": {"seed": "3"}},
            "twin.seed=3 is for --robot.port",
        ),
        ({"robot": {"type": "koch_follower", "port": "/dev/no"}, "twin": {"faults": "0.1"}}, "port=twin"),
        ({"robot": {"type": "koch_follower", "port": "twin"}, "twin": {"repeat": "true"}}, "repeats --twin.motion"),
        ({"robot": {"type": "koch_follower", "port": "twin"}, "twin": {"motion": "a.csv"}}, "teleop.port=twin"),
        ({"robot": {"type": "koch_follower", "port": "twin"}, "twin": "fast"}, "must have options"),
        ({"robot": {"type": "koch_follower", "port": "twin"}, "twin": {"seed": "-1"}}, "negative"),
        ({"robot": {"type": "bi_so_follower", "port": "twin"}}, "is two arms"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(data: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught, Stage.from_data(data, "record"):
        pass
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("real_time", [True, False])
def test_who_lets_time_pass_waits_for_answers_however_busy_the_machine(real_time: bool, tmp_path: Path) -> None:
    with Twin("koch_follower", calibrated=True, real_time=real_time) as twin:
        assert twin.calibration is not None
        (tmp_path / "None.json").write_text(calibration_to_json(twin.calibration))
        with make_robot("koch_follower", port=twin.port, calibration_dir=tmp_path) as robot:
            patience: float = robot.bus.line.patience_s  # type: ignore[attr-defined]
    assert patience < 0.1 if real_time else patience >= 0.5
