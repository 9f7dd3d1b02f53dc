"""An arm whose joints are known is posed as its twin stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from yardarm.robots import Guarded, make_robot
from yardarm.robots.motors import calibration_to_json
from yardarm.robots.twins import Twin, open_door, posed_arms


@pytest.mark.parametrize("type", ["so101_follower", "koch_follower"])
def test_the_body_stands_as_the_twin_does(type: str, tmp_path: Path) -> None:
    with Twin(type, calibrated=True, real_time=False) as twin:
        assert twin.calibration
        (tmp_path / "a.json").write_text(calibration_to_json(twin.calibration))
        twin.place({"shoulder_pan": 20.0, "elbow_flex": -30.0, "gripper": 70.0})
        robot = make_robot(type, port=twin.port, id="a", calibration_dir=tmp_path)
        positions = {f"{name}.pos": value for name, value in twin.positions.items()}
        arms = posed_arms(Guarded(robot), lambda: positions)
        assert list(arms) == ["arm"]
        assert arms["arm"].angles() == pytest.approx(twin.angles(), abs=1e-6)


def test_a_pair_has_two_arms_to_draw(tmp_path: Path) -> None:
    ports = {f"{side}_arm_config": {"port": side} for side in ("left", "right")}
    robot = make_robot("bi_so_follower", id="two", calibration_dir=tmp_path, **ports)
    arms = posed_arms(robot, lambda: {"left_shoulder_pan.pos": 30.0})
    assert list(arms) == ["left", "right"]
    assert arms["left"].angles()[0] == pytest.approx(0.5236, abs=1e-3)
    assert arms["right"].angles()[0] == 0.0


def test_a_twin_is_drawn_with_what_is_on_its_table(tmp_path: Path) -> None:
    with Twin("so101_follower", calibrated=True, real_time=False, scene="cube_and_box") as twin:
        robot = make_robot("so101_follower", port=twin.port, id="a", calibration_dir=tmp_path)
        beside = posed_arms(robot, dict, twin)["arm"]
        elsewhere = open_door(twin.port)
        assert elsewhere is not None
        behind = posed_arms(robot, dict, elsewhere)["arm"]
        assert beside.about.scene == behind.about.scene == "cube_and_box"
        assert beside.angles() == behind.angles()
        assert len(beside.angles()) > 6
        elsewhere.close()
