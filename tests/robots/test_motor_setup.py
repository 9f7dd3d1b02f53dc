"""New motors get their ids, one at a time; whatever is plugged in by mistake is named."""

from __future__ import annotations

import contextlib
import os
import termios
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from yardarm.errors import UsageError
from yardarm.robots import make_robot, make_teleoperator
from yardarm.robots.operator import Row
from yardarm.robots.twins.chain import DynamixelSide, FeetechSide, MotorChain
from yardarm.robots.twins.factory import new_servo
from yardarm.robots.twins.port import Outgoing, PortServer
from yardarm.robots.twins.servo import DynamixelServo, Servo

SPEEDS = {
    "Feetech": {0: termios.B1000000, 1: termios.B500000, 4: termios.B115200, 5: termios.B57600},
    "Dynamixel": {1: termios.B57600, 2: termios.B115200, 3: termios.B1000000},
}


class Cable:
    """What is plugged in. A motor hears only what is sent at its own speed."""

    def __init__(self, is_dynamixel: bool) -> None:
        self.speeds = SPEEDS["Dynamixel" if is_dynamixel else "Feetech"]
        self.side = DynamixelSide() if is_dynamixel else FeetechSide()
        self.motors: list[Servo] = []
        self.path = ""

    def answer(self, content: bytes) -> Iterator[Outgoing]:
        descriptor = os.open(self.path, os.O_RDWR | os.O_NOCTTY)
        speed = termios.tcgetattr(descriptor)[5]
        os.close(descriptor)
        hearing = [motor for motor in self.motors if self.speeds[motor.get("Baud_Rate")] == speed]
        return map(Outgoing, MotorChain(hearing, self.side).take(content))


@contextlib.contextmanager
def cable(is_dynamixel: bool = False) -> Iterator[Cable]:
    own = Cable(is_dynamixel)
    with PortServer(own.answer) as port:
        own.path = port.path
        yield own


class Person:
    """Does what it is asked, by a list: each entry plugs motors in, or is a word that is typed."""

    def __init__(self, cable: Cable, *plugs: Callable[[], Sequence[Servo]] | str) -> None:
        self._cable, self._plugs = cable, list(plugs)
        self.asked: list[str] = []
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)

    def ask(self, text: str) -> str:
        self.asked.append(text)
        if not self._plugs:
            raise UsageError("the answers ended too early")
        plug = self._plugs.pop(0)
        if isinstance(plug, str):
            return plug
        self._cable.motors = list(plug())
        return ""

    def show(self, rows: Sequence[Row]) -> None:
        raise AssertionError("there is no table here")

    def has_answered(self) -> bool:
        raise AssertionError("nobody waits here")


def arm_on(cable: Cable, type: str) -> Any:
    make = make_teleoperator if type.endswith("leader") else make_robot
    return make(type, port=cable.path, id="new")


def test_all_motors_of_a_new_arm_get_their_ids_the_last_joint_first() -> None:
    new = [new_servo("sts3215") for _ in range(6)]
    with cable() as own:
        person = Person(own, *[lambda motor=motor: [motor] for motor in new])  # type: ignore[misc]
        arm_on(own, "so101_follower").setup_motors(person)
    assert [motor.id for motor in new] == [6, 5, 4, 3, 2, 1]
    assert [text.split()[1] for text in person.asked][:2] == ["gripper", "wrist_roll"]
    assert person.said[1] == "gripper has the id 6 now (it had 1, at 1000000 baud)."
    assert person.said[-2] == "shoulder_pan has the id 1 already."
    assert "All motors of so_follower 'new' have their ids" in person.said[-1]


@pytest.mark.parametrize(
    ("type", "model", "code", "usual"), [("so101_leader", "sts3215", 4, 0), ("koch_leader", "xl330-m077", 1, 3)]
)
def test_a_motor_at_another_speed_is_found_and_made_as_fast_as_the_others(
    type: str, model: str, code: int, usual: int
) -> None:
    motor = new_servo(model, id=9)
    motor.set("Baud_Rate", code)
    with cable(isinstance(motor, DynamixelServo)) as own:
        person = Person(own, lambda: [motor], *["s"] * 5)
        arm_on(own, type).setup_motors(person)
    assert (motor.id, motor.get("Baud_Rate")) == (6, usual)
    assert "it had 9, at" in person.said[1]


def test_wrong_plugs_are_named_and_change_nothing() -> None:
    right, other = new_servo("sts3215"), new_servo("sts3250")
    with cable() as own:
        person = Person(
            own,
            lambda: [],
            lambda: [new_servo("sts3215", 2), new_servo("sts3215", 3)],
            lambda: [other],
            lambda: [right],
            lambda: [right],  # the next joint is asked for, but the same motor is still there
            *["s"] * 5,
        )
        arm_on(own, "so101_follower").setup_motors(person)
    assert person.said[1] == "Not yet: no motor answers at any baud rate; check its cable and the power supply"
    assert person.said[2] == "Not yet: 2 motors answer, with the ids 2, 3; leave only one connected"
    assert person.said[3] == "Not yet: the motor with id 1 is a sts3250, but gripper must be a sts3215"
    assert person.said[5] == "Not yet: this is gripper (id 6), which is done; unplug it, and plug in wrist_roll"
    assert (right.id, other.id) == (6, 1)


def test_it_can_be_stopped_and_run_again() -> None:
    new = [new_servo("sts3215") for _ in range(2)]
    with cable() as own:
        arm = arm_on(own, "so101_follower")
        with pytest.raises(UsageError, match="ended too early"):
            arm.setup_motors(Person(own, lambda: [new[0]]))
        assert not arm.is_connected
        person = Person(own, lambda: [new[0]], lambda: [new[1]], *["s"] * 4)
        arm.setup_motors(person)
    assert [motor.id for motor in new] == [6, 5]
    assert person.said[1] == "gripper has the id 6 already."


def test_a_pair_of_arms_is_set_up_one_after_the_other() -> None:
    new = [new_servo("sts3215") for _ in range(2)]
    with cable() as left, cable() as right:
        arms = make_robot(
            "bi_so_follower", id="two", left_arm_config={"port": left.path}, right_arm_config={"port": right.path}
        )
        left.motors, right.motors = [new[0]], [new[1]]
        person = Person(left, *(["", *["s"] * 5] * 2))
        arms.setup_motors(person)  # type: ignore[attr-defined]
    assert [motor.id for motor in new] == [6, 6]


def test_a_cable_that_was_unplugged_is_waited_for(tmp_path: Path) -> None:
    motor, path = new_servo("sts3215"), tmp_path / "port"
    with contextlib.ExitStack() as later:
        first = later.enter_context(contextlib.ExitStack())
        own = first.enter_context(cable())
        path.symlink_to(own.path)

        def unplug() -> list[Servo]:
            first.close()
            path.unlink()
            return []

        def plug_in() -> list[Servo]:
            again = later.enter_context(cable())
            again.motors = [motor]
            path.symlink_to(again.path)
            return []

        person = Person(own, unplug, "", plug_in, *["s"] * 5)
        arm: Any = make_robot("so101_follower", port=str(path), id="new")
        arm.setup_motors(person)
    assert "is gone" in person.said[1]
    assert "Not yet: cannot open the port" in person.said[2]
    assert motor.id == 6


def test_a_cable_that_stays_unplugged_does_not_hide_how_it_ended(tmp_path: Path) -> None:
    with contextlib.ExitStack() as plugged:
        own = plugged.enter_context(cable())
        arm = arm_on(own, "so101_follower")
        with pytest.raises(UsageError, match="the answers ended too early"):
            arm.setup_motors(Person(own, lambda: plugged.close() or []))  # type: ignore[func-returns-value]
