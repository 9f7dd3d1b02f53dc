"""Teleoperation on twins: what is seen, asked and sent, and what happens when something fails."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.control.fake_clock import FakeClock
from tests.helpers import GOLDEN
from tests.robots.twin_port import TwinPort, twin_of
from yardarm.control import DeadMan, HoldOptions, Loop, teleoperation
from yardarm.control.holding import Holding, HoldReason
from yardarm.errors import RobotFault, UsageError
from yardarm.robots import Frame, Guarded, Reading, make_robot, make_teleoperator
from yardarm.robots.motors import calibration_to_json, read_calibration_file

CALIBRATION = read_calibration_file(GOLDEN / "robots" / "so101_follower" / "calibration.json")
JOINTS = [f"{name}.pos" for name in CALIBRATION]


@dataclass
class Arms:
    """A leader and a guarded follower, on twins, with a clock that passes by work."""

    leader: Any
    follower: Any
    leader_twin: TwinPort
    follower_twin: TwinPort
    clock: FakeClock

    def __post_init__(self) -> None:
        self.loop = Loop(10, self.clock)

    def run(self, seconds: float | None = None, **options: Any) -> Iterator[Any]:
        return teleoperation(self.follower, self.leader, self.loop, seconds=seconds, **options)


@pytest.fixture
def arms(tmp_path: Path) -> Iterator[Arms]:
    (tmp_path / "a.json").write_text(calibration_to_json(CALIBRATION))
    own = {"id": "a", "calibration_dir": tmp_path, "watchdog": False}
    with twin_of("so101_leader", CALIBRATION) as upper, twin_of("so101_follower", CALIBRATION) as lower:
        leader = patient(make_teleoperator("so101_leader", port=upper.path, **own))
        robot = patient(make_robot("so101_follower", port=lower.path, **own))
        robot.clock = clock = FakeClock(100.0)
        with leader, Guarded(robot) as follower:
            yield Arms(leader, follower, upper, lower, clock)


def patient(arm: Any) -> Any:
    arm.bus.line.patience_s, arm.bus.retry_budget_s = 2.0, 10.0  # a busy machine must not look like a lost packet
    return arm


def test_the_follower_is_sent_where_the_leader_is(arms: Arms) -> None:
    pan = CALIBRATION["shoulder_pan"]
    arms.leader_twin.servo(1).shaft = (pan.range_min + pan.range_max) // 2 + pan.homing_offset
    ticks = list(arms.run(3.0))
    assert [tick.index for tick in ticks] == list(range(30))
    first, last = ticks[0], ticks[-1]
    assert list(first.asked) == list(first.sent) == list(first.reading.values) == JOINTS
    assert first.due_s == first.began_s == first.reading.joints_s == first.sent_s == 100.0
    # The guard leaves from where the arm is, and arrives.
    assert abs(first.sent["shoulder_pan.pos"] - first.reading.values["shoulder_pan.pos"]) < 1
    assert last.sent["shoulder_pan.pos"] == last.asked["shoulder_pan.pos"] == pytest.approx(0.0, abs=0.1)
    assert abs(first.reading.values["shoulder_pan.pos"]) > 20
    goal = arms.follower_twin.servo(1).get("Goal_Position")
    assert goal == pytest.approx((pan.range_min + pan.range_max) / 2, abs=1)
    assert set(arms.loop.timing.parts) == {"observe", "ask", "send"}


def test_a_process_maps_what_is_asked_for(arms: Arms) -> None:
    def mirrored(action: dict[str, Any], reading: Reading) -> dict[str, Any]:
        assert reading.values.keys() == action.keys()
        return {**action, "shoulder_pan.pos": -action["shoulder_pan.pos"]}

    arms.leader_twin.servo(1).shaft += 200
    plain = next(arms.run())
    tick = next(arms.run(process=mirrored))
    assert tick.asked["shoulder_pan.pos"] == -plain.asked["shoulder_pan.pos"]


def test_it_stops_when_it_is_told(arms: Arms) -> None:
    said: list[int] = []
    assert len(list(arms.run(stop=lambda: len(said) == 3 or bool(said.append(1))))) == 3


def test_the_arm_acts_only_while_the_key_is_held(arms: Arms) -> None:
    keys = {"space"}
    indices = []
    for tick in arms.run(1.0, may_act=DeadMan(lambda: keys)):
        indices.append(tick.index)
        if tick.index == 4:
            keys.clear()
    assert indices == [0, 1, 2, 3, 4]
    assert arms.loop.timing.held == 5
    assert arms.loop.trouble == "hold space to let the arm move"


def test_what_is_asked_for_while_the_key_is_not_held_does_not_add_up(arms: Arms) -> None:
    keys, asked = set[str](), list[float]()

    def process(action: dict[str, Any], reading: Reading) -> dict[str, Any]:
        asked.append(arms.clock.now())
        return action

    def held() -> set[str]:
        return keys if arms.clock.now() < 100.75 else {"space"}

    indices = [tick.index for tick in arms.run(1.0, may_act=DeadMan(held), process=process)]
    assert indices == [8, 9]
    assert len(asked) == 2
    assert arms.loop.trouble == ""


def test_nobody_is_too_late_to_hold_the_key(arms: Arms) -> None:
    assert list(arms.run(3.0, may_act=DeadMan(set), hold=HoldOptions(patience_s=1))) == []
    assert arms.loop.timing.held == 30


def failing(times: int, then: Any, error: Exception) -> Any:
    """A method that fails some times."""
    left = [times]

    def act() -> Any:
        left[0] -= 1
        if left[0] >= 0:
            raise error
        return then()

    return act


def test_a_leader_that_is_silent_for_a_moment_holds_the_arm(arms: Arms, caplog: pytest.LogCaptureFixture) -> None:
    arms.leader.get_action = failing(3, arms.leader.get_action, RobotFault("no answer"))
    assert [tick.index for tick in arms.run(1.0)] == [3, 4, 5, 6, 7, 8, 9]
    assert arms.loop.timing.held == 3
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "so_leader 'a' does not answer: no answer; the arm holds still",
        "recovered after 0.3 s",
    ]
    assert "3 held" in arms.loop.timing.summary()


def test_each_culprit_is_named_once(arms: Arms, caplog: pytest.LogCaptureFixture) -> None:
    arms.leader.get_action = failing(2, arms.leader.get_action, RobotFault("no answer"))
    arms.follower.robot.observe = failing(3, arms.follower.robot.observe, RobotFault("no power"))
    assert [tick.index for tick in arms.run(0.7)] == [5, 6]
    assert [record.getMessage() for record in caplog.records] == [
        "so_follower 'a' cannot be observed: no power; the arm holds still",
        "so_leader 'a' does not answer: no answer; the arm holds still",
        "recovered after 0.5 s",
    ]


def test_a_leader_that_is_unplugged_ends_it_after_a_while(arms: Arms) -> None:
    next(arms.run())
    arms.leader.get_action = failing(1000, None, RobotFault("no answer"))
    with pytest.raises(RobotFault, match=r"stopped, after 2\.0 s without an action: so_leader 'a' does not answer"):
        list(arms.run(hold=HoldOptions(patience_s=2)))
    assert arms.clock.now() == pytest.approx(102.0)


def test_a_bug_in_a_teleoperator_is_its_own(arms: Arms) -> None:
    arms.leader.get_action = failing(1, None, KeyError("x"))
    with pytest.raises(RobotFault, match=r"so_leader 'a' failed: KeyError: 'x'"):
        list(arms.run())


@pytest.mark.parametrize("value", [math.nan, math.inf, None, "left"])
def test_nonsense_is_not_sent(arms: Arms, value: Any) -> None:
    action = arms.leader.get_action()
    arms.leader.get_action = lambda: {**action, "gripper.pos": value}
    before = [servo.get("Goal_Position") for servo in arms.follower_twin.chain.servos]
    with pytest.raises(RobotFault, match=r"so_leader 'a' asks for gripper.pos = .*, which is not a finite number"):
        list(arms.run(hold=HoldOptions(patience_s=1)))
    assert before == [servo.get("Goal_Position") for servo in arms.follower_twin.chain.servos]


def test_an_arm_that_measures_nonsense_or_nothing_is_held(arms: Arms) -> None:
    observe = arms.follower.robot.observe
    reading = observe()
    broken = Reading({**reading.values, "gripper.pos": math.nan}, reading.joints_s)
    answers: list[Any] = [broken, RobotFault("no answer"), TimeoutError("old")]

    def now() -> Reading:
        answer = answers.pop(0) if answers else observe()
        if isinstance(answer, Exception):
            raise answer
        return answer

    arms.follower.robot.observe = now
    assert [tick.index for tick in arms.run(0.5)] == [3, 4]


def test_an_old_picture_holds_the_arm_until_a_new_one_comes(arms: Arms, caplog: pytest.LogCaptureFixture) -> None:
    values: Mapping[str, Any] = arms.follower.get_observation()
    picture = np.zeros((2, 2, 3), np.uint8)
    captured = [100.0]

    def observe() -> Reading:
        if arms.clock.now() > 101.15:
            captured[0] = arms.clock.now()
        return Reading({**values, "front": picture}, arms.clock.now(), {"front": Frame(picture, captured[0], 0)})

    arms.follower.robot.observe = observe
    assert [tick.index for tick in arms.run(1.5)] == [0, 1, 2, 3, 4, 5, 12, 13, 14]
    assert "camera 'front' has shown nothing new for 0.6 s (limit 0.5 s); the arm holds still" in caplog.text


@pytest.mark.parametrize("name", ["max_camera_age_s", "patience_s"])
def test_a_patience_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"--hold.{name} must be positive"):
        HoldOptions(**{name: 0})


def test_what_comes_and_goes_in_every_second_is_not_said_in_every_second(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock(100.0)
    holding = Holding(HoldOptions(), Loop(10, clock))
    for _ in range(20):
        holding.hold(HoldReason("front", "camera 'front' is old"))
        clock.wait_until(clock.now() + 0.1)
        holding.go_on()
    said = [record.getMessage() for record in caplog.records]
    assert said[:2] == ["camera 'front' is old; the arm holds still", "recovered after 0.1 s"]
    assert said[4:] == [
        "camera 'front' is old; the arm holds still once more; it is not said again",
        "recovered after 0.1 s",
    ]
    holding.hold(HoldReason("leader", "the leader is silent"))
    assert caplog.records[-1].getMessage() == "the leader is silent; the arm holds still"
