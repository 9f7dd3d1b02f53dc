"""A guarded arm never jumps, never hurries, yields to a load, and lets go before it burns."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.robots.twin_port import TwinPort, twin_of
from yardarm.config import FlagText, decode
from yardarm.errors import BusFault, RobotFault, UsageError
from yardarm.robots import Guarded, GuardOptions, Robot, guard, make_robot
from yardarm.robots.device import DeviceConfig
from yardarm.robots.motors import DEGREES, PERCENT, read_calibration_file

GOLDEN = Path(__file__).parents[1] / "golden" / "robots"
SO101 = GOLDEN / "so101_follower"
CALIBRATION = read_calibration_file(SO101 / "calibration.json")


class Clock:
    """Time that passes when the test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class IdealArm(Robot):
    """Two joints without a bus, which are at once where they are sent."""

    name = "ideal"

    def __init__(self) -> None:
        super().__init__(DeviceConfig(calibration_dir=Path()))
        self.place = {"lift.pos": 30.0, "gripper.pos": 10.0}
        self.is_on = False

    action_features = observation_features = property(  # type: ignore[assignment]
        lambda self: {"lift.pos": float, "gripper.pos": float}
    )
    action_units = property(lambda self: {"lift.pos": DEGREES, "gripper.pos": PERCENT})  # type: ignore[assignment]
    is_connected = property(lambda self: self.is_on)  # type: ignore[assignment]
    is_calibrated = property(lambda self: True)  # type: ignore[assignment]

    def connect(self, calibrate: bool = True) -> None:
        self.is_on = True

    def disconnect(self) -> None:
        self.is_on = False

    def calibrate(self) -> None: ...

    def configure(self) -> None: ...

    def get_observation(self) -> dict[str, Any]:
        return dict(self.place)

    def send_action(self, action: Mapping[str, Any]) -> dict[str, Any]:
        self.place = dict(action)
        return dict(action)


GOALS = st.fixed_dictionaries(
    {"lift.pos": st.floats(-1e6, 1e6, allow_nan=False), "gripper.pos": st.floats(0, 100, allow_nan=False)}
)
STEPS = st.lists(st.tuples(st.floats(0, 5, allow_nan=False), GOALS, st.booleans()), max_size=30)


@given(steps=STEPS, usual=st.floats(1, 500), start=st.floats(1, 500))
def test_whatever_is_asked_and_whenever_nothing_moves_faster_than_it_may(
    steps: list[tuple[float, dict[str, float], bool]], usual: float, start: float
) -> None:
    clock, arm = Clock(), IdealArm()
    options = GuardOptions(max_speed={"lift": usual}, start_speed={"lift.pos": start})
    robot = Guarded(arm, options, clock=clock)
    robot.connect()
    reached: set[str] = set()
    last = clock.now
    for passed, action, reconnects in steps:
        if reconnects:
            robot.disconnect()
            robot.connect()
            reached = set()
        clock.now += passed
        before, elapsed = dict(arm.place), 0.0 if reconnects else clock.now - last
        if elapsed > options.pause_s:
            reached = set()
        sent = robot.send_action(action)
        assert sent == arm.place
        for name, speeds in {"lift.pos": (usual, start), "gripper.pos": (400, 60)}.items():
            speed = speeds[0] if name in reached else min(speeds)
            # 0.1 s: what a loop has missed is not made up for.
            assert abs(sent[name] - before[name]) <= speed * min(elapsed, 0.1) + 1e-6
            if sent[name] == action[name]:
                reached.add(name)
        last = clock.now


@contextlib.contextmanager
def centred_twin() -> Iterator[TwinPort]:
    """An arm with all joints in the middle of their range."""
    with twin_of("so101_follower", CALIBRATION) as own:
        for servo, limits in zip(own.chain.servos, CALIBRATION.values(), strict=True):
            servo.shaft = (limits.range_min + limits.range_max) // 2 + limits.homing_offset
        yield own


@pytest.fixture
def twin() -> Iterator[TwinPort]:
    with centred_twin() as own:
        yield own


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def robot(twin: TwinPort, clock: Clock) -> Iterator[Guarded]:
    arm: Any = make_robot(
        "so101_follower", port=twin.path, id="calibration", calibration_dir=SO101, watchdog=False, num_read_retries=5
    )
    arm.bus.line.patience_s, arm.bus.retry_budget_s = 0.3, 3.0  # a busy machine must not look like a lost packet
    with Guarded(arm, clock=clock) as own:
        yield own


def raised(robot: Guarded, **goals: float) -> dict[str, Any]:
    """Where it is, but for some joints."""
    return {**robot.get_observation(), **{f"{name}.pos": goal for name, goal in goals.items()}}


def play(
    robot: Guarded, clock: Clock, action: Mapping[str, float], seconds: float, every_s: float = 0.05
) -> dict[str, Any]:
    """The same action again and again; returns what was sent last."""
    sent: dict[str, Any] = {}
    for _ in range(round(seconds / every_s)):
        clock.now += every_s
        sent = robot.send_action(action)
    return sent


def test_the_first_action_leaves_from_where_the_arm_is(robot: Guarded, clock: Clock) -> None:
    here = robot.get_observation()
    far = {**here, "shoulder_pan.pos": here["shoulder_pan.pos"] + 40}
    assert robot.send_action(far) == pytest.approx(here)
    assert play(robot, clock, far, 0.5)["shoulder_pan.pos"] == pytest.approx(here["shoulder_pan.pos"] + 45 * 0.5)
    assert play(robot, clock, far, 0.5) == pytest.approx(far)
    # They have met: from now on it may follow quickly.
    assert play(robot, clock, here, 0.1)["shoulder_pan.pos"] == pytest.approx(here["shoulder_pan.pos"] + 40 - 24)


def test_after_a_pause_it_goes_on_slowly_from_its_last_goal(robot: Guarded, clock: Clock) -> None:
    here = robot.get_observation()
    closed = {**here, "gripper.pos": 0.0}
    play(robot, clock, closed, 3)
    clock.now += 10
    sent = robot.send_action(here)  # the fingers have never moved: they hold something
    assert sent["gripper.pos"] == pytest.approx(60 * 0.1)


def test_after_a_new_connect_it_starts_from_where_the_arm_is(robot: Guarded, clock: Clock, twin: TwinPort) -> None:
    play(robot, clock, raised(robot, shoulder_pan=20.0), 1)
    robot.disconnect()
    twin.servo(1).shaft += 200  # somebody moved it
    robot.connect()
    here = robot.get_observation()
    assert robot.send_action(raised(robot, shoulder_pan=-40.0)) == pytest.approx(here)


@pytest.mark.parametrize("how", ["release", "configure"])
def test_after_a_person_has_moved_it_it_starts_from_where_the_arm_is(
    robot: Guarded, clock: Clock, twin: TwinPort, how: str
) -> None:
    play(robot, clock, raised(robot, shoulder_pan=20.0), 1)
    getattr(robot, how)()
    twin.servo(3).shaft += 300
    here = robot.get_observation()
    assert robot.send_action(here) == pytest.approx(here)


def test_looking_after_the_motors_costs_one_request_a_second(robot: Guarded, clock: Clock) -> None:
    here = robot.get_observation()
    robot.send_action(here)
    before = robot.bus.line.counts.requests
    play(robot, clock, here, 10.1)
    actions, looks, limits = 202, 10, 1
    assert robot.bus.line.counts.requests - before <= actions + looks + limits


def test_a_joint_that_stays_overloaded_yields_and_tries_again(
    robot: Guarded, clock: Clock, twin: TwinPort, caplog: pytest.LogCaptureFixture
) -> None:
    here, elbow = robot.get_observation(), twin.servo(3)
    far = {**here, "elbow_flex.pos": here["elbow_flex.pos"] + 30}
    elbow.set("Present_Load", 1 << 10 | 950)  # the other way round
    assert play(robot, clock, far, 1.5) == pytest.approx(far)  # one look is not enough
    assert play(robot, clock, far, 1.5)["elbow_flex.pos"] == pytest.approx(here["elbow_flex.pos"])
    elbow.set("Present_Load", 100)
    assert play(robot, clock, far, 4) == pytest.approx(far)
    elbow.set("Present_Load", 950)
    play(robot, clock, far, 4)
    warnings = [record.getMessage() for record in caplog.records if "load" in record.getMessage()]
    assert warnings == [
        "so_follower 'calibration': elbow_flex has a load of 95% (limit 90%); it yields, and tries again slowly: is "
        "something in its way?"
    ]


def be_impatient(robot: Guarded) -> None:
    """Do not wait long for a motor that is known to be silent."""
    robot.bus.line.patience_s, robot.bus.line.lateness_s, robot.bus.retry_budget_s = 0.05, 0.0, 0.0


def fails_once(monkeypatch: pytest.MonkeyPatch, owner: Any, method: str) -> None:
    """As if the packet was lost."""
    real = getattr(owner, method)

    def lost(*arguments: Any) -> Any:
        monkeypatch.setattr(owner, method, real)
        raise BusFault("no answer")

    monkeypatch.setattr(owner, method, lost)


def test_an_overloaded_joint_yields_even_if_a_packet_is_lost(
    robot: Guarded, clock: Clock, twin: TwinPort, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, elbow = robot.get_observation(), twin.servo(3)
    far = {**here, "elbow_flex.pos": here["elbow_flex.pos"] + 30}
    elbow.set("Present_Load", 950)
    play(robot, clock, far, 1.5)
    fails_once(monkeypatch, robot.robot, "positions")
    play(robot, clock, far, 1)
    assert play(robot, clock, far, 1.5)["elbow_flex.pos"] == pytest.approx(here["elbow_flex.pos"])
    elbow.set("Present_Load", 100)
    assert play(robot, clock, far, 4) == pytest.approx(far)


def test_a_silent_motor_does_not_hide_the_heat_of_another(robot: Guarded, clock: Clock, twin: TwinPort) -> None:
    here = robot.get_observation()
    play(robot, clock, here, 0.5)
    be_impatient(robot)
    gripper = twin.chain.servos.pop()
    play(robot, clock, here, 2, every_s=0.5)
    twin.servo(2).set("Present_Temperature", 95)
    # On a busy machine, others may be silent for a moment, too.
    with pytest.raises(RobotFault, match=r"too hot, and could not be released .*gripper"):
        play(robot, clock, here, 12, every_s=0.5)
    assert [servo.get("Torque_Enable") for servo in twin.chain.servos] == [0] * 5
    twin.chain.servos.append(gripper)


def test_nothing_is_sent_while_a_motor_is_silent_for_long(
    robot: Guarded, clock: Clock, twin: TwinPort, caplog: pytest.LogCaptureFixture
) -> None:
    here = robot.get_observation()
    play(robot, clock, here, 2.5)
    be_impatient(robot)
    gripper = twin.chain.servos.pop()
    play(robot, clock, here, 3, every_s=0.5)
    assert re.search("no answer from .*gripper: load and temperature are unknown; check power and cables", caplog.text)
    with pytest.raises(RobotFault, match=r"nothing is sent until .*gripper answers again"):
        play(robot, clock, here, 2, every_s=0.5)
    with pytest.raises(RobotFault, match="nothing is sent until"):
        robot.send_action(here)
    twin.chain.servos.append(gripper)
    robot.bus.line.patience_s, robot.bus.line.lateness_s = 0.3, 3.0
    assert robot.send_action(here) == pytest.approx(here)


def test_an_arm_that_is_too_hot_stops_and_lets_go_from_the_tip_to_the_base(
    robot: Guarded, clock: Clock, twin: TwinPort, caplog: pytest.LogCaptureFixture
) -> None:
    here = robot.get_observation()
    play(robot, clock, here, 0.5)
    twin.servo(2).set("Present_Temperature", 66)
    far = raised(robot, shoulder_pan=here["shoulder_pan.pos"] + 30)
    play(robot, clock, here, 1)
    assert play(robot, clock, far, 4) == pytest.approx(here)
    assert "shoulder_lift is at 66 °C (limit 65 °C)" in caplog.text
    assert [servo.get("Torque_Enable") for servo in twin.chain.servos] == [1] * 6
    robot.release([])  # who releases joints of an arm that cools down does not end that
    play(robot, clock, far, 1.1)
    torques = [servo.get("Torque_Enable") for servo in twin.chain.servos]
    assert sorted(torques, reverse=True) == torques
    assert torques.count(0) in (1, 2)
    with pytest.raises(RobotFault, match="too hot, and has been released"):
        play(robot, clock, far, 4)
    assert [servo.get("Torque_Enable") for servo in twin.chain.servos] == [0] * 6


def test_a_hot_arm_is_released_even_if_a_packet_is_lost(
    robot: Guarded, clock: Clock, twin: TwinPort, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = robot.get_observation()
    twin.servo(2).set("Present_Temperature", 90)
    play(robot, clock, here, 5)
    fails_once(monkeypatch, robot.robot, "release")
    with pytest.raises(RobotFault, match="too hot, and has been released"):
        play(robot, clock, here, 5)
    assert [servo.get("Torque_Enable") for servo in twin.chain.servos] == [0] * 6


def test_a_hot_motor_that_cannot_be_released_is_named_and_keeps_no_other_on_torque(
    robot: Guarded, clock: Clock, twin: TwinPort
) -> None:
    here = robot.get_observation()
    twin.servo(2).set("Present_Temperature", 90)
    play(robot, clock, here, 5)
    be_impatient(robot)
    gripper = twin.chain.servos.pop()
    with pytest.raises(RobotFault, match=r"could not be released .*gripper \(id 6\).*switch off its power"):
        play(robot, clock, here, 5, every_s=0.5)
    assert [servo.get("Torque_Enable") for servo in twin.chain.servos] == [0] * 5
    twin.chain.servos.append(gripper)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gripper.pos": math.nan}, "the action's gripper.pos is nan, not a finite number; nothing was sent"),
        ({"gripper.pos": math.inf}, "the action's gripper.pos is inf"),
        ({"gripper.pos": "open"}, "the action's gripper.pos is 'open'"),
        ({"griper.pos": 1.0}, "the action has 'griper.pos'.*did you mean 'gripper.pos'?"),
        ({"gripper.pos": None}, "the action lacks gripper.pos"),
    ],
)
def test_nonsense_is_refused(change: dict[str, Any], message: str) -> None:
    arm = IdealArm()
    with Guarded(arm) as robot:
        action = {name: value for name, value in {**arm.place, **change}.items() if value is not None}
        before = dict(arm.place)
        with pytest.raises(RobotFault, match=message):
            robot.send_action(action)
        assert arm.place == before


def test_limits_must_be_positive_and_of_joints_that_there_are() -> None:
    with pytest.raises(UsageError, match=r"guard.pause_s must be positive, got 0"):
        GuardOptions(pause_s=0)
    with pytest.raises(UsageError, match=r"guard.max_speed must be positive, got -3"):
        GuardOptions(max_speed={"lift": -3.0})
    with pytest.raises(UsageError, match=r"guard.max_speed: ideal has no joint 'lft'; did you mean 'lift'\?"):
        Guarded(IdealArm(), GuardOptions(max_speed={"lft": 3.0}))


def test_limits_can_be_flags() -> None:
    flags = {"max_speed": FlagText("{gripper: 100, lift: 180.5}"), "start_speed": FlagText("30")}
    options = decode(GuardOptions, "guard", flags, "robot info")
    assert options.max_speed == {"gripper": 100, "lift": 180.5}
    assert options.start_speed == 30
    with pytest.raises(UsageError, match=r"--guard\.max_speed must be a number or a mapping"):
        decode(GuardOptions, "guard", {"max_speed": FlagText("fast")}, "robot info")


def test_everything_else_is_the_robots(robot: Guarded) -> None:
    arm = robot.robot
    assert isinstance(robot, Robot)
    assert (robot.name, robot.robot_type, robot.id, str(robot)) == (arm.name, arm.robot_type, arm.id, str(arm))
    assert robot.action_features == arm.action_features
    assert robot.calibration is arm.calibration
    assert robot.cameras == {}


def test_a_guard_that_nobody_needs_leaves_the_robot_alone() -> None:
    arm = IdealArm()
    assert guard(arm, GuardOptions(enabled=False)) is arm
    arm.connect()
    Guarded(arm)
    assert arm.is_connected


def test_a_pair_of_arms_is_guarded_as_one(tmp_path: Path, clock: Clock) -> None:
    for side in ("left", "right"):
        (tmp_path / f"two_{side}.json").write_text((SO101 / "calibration.json").read_text())
    with centred_twin() as left, centred_twin() as right:
        arms = {
            f"{side}_arm_config": {"port": twin.path, "watchdog": False, "num_read_retries": 5}
            for side, twin in {"left": left, "right": right}.items()
        }
        pair: Any = make_robot("bi_so_follower", id="two", calibration_dir=tmp_path, **arms)
        for arm in pair.arms.values():
            arm.bus.line.patience_s, arm.bus.retry_budget_s = 0.3, 3.0
        with Guarded(pair, GuardOptions(max_speed={"left_gripper": 10.0}), clock=clock) as robot:
            here = robot.get_observation()
            right.servo(6).set("Present_Load", 990)
            opened = {**here, "left_gripper.pos": 100.0, "right_gripper.pos": 100.0}
            sent = [robot.send_action(opened), play(robot, clock, opened, 0.5), play(robot, clock, opened, 2.5)]
            assert sent[0] == pytest.approx(here)
            assert sent[1]["left_gripper.pos"] == pytest.approx(here["left_gripper.pos"] + 5)
            assert sent[1]["right_gripper.pos"] == pytest.approx(here["right_gripper.pos"] + 30)
            assert sent[2]["right_gripper.pos"] == pytest.approx(here["right_gripper.pos"])  # it yields
            robot.release(["right_gripper"])
            assert [twin.servo(6).get("Torque_Enable") for twin in (left, right)] == [1, 0]
