"""Any command can bring its own twins: ``--robot.port=twin``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from yardarm.errors import UsageError
from yardarm.robots import HostClock, robot_from_data, teleoperator_from_data
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
