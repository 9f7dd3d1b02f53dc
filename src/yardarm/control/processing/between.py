"""Which process a teleoperator and a robot need, if any."""

from __future__ import annotations

from collections.abc import Mapping

from yardarm.control.process import Process
from yardarm.control.processing.arm_joints import ArmJoints
from yardarm.control.processing.deltas import DELTAS, GRIPPER_MOVE, DeltasToEe
from yardarm.control.processing.ee import EE, BoundedEe, EeToJoints
from yardarm.control.processing.hand_process import HandProcess
from yardarm.control.processing.options import EeOptions
from yardarm.errors import UsageError
from yardarm.robots import Robot, Teleoperator
from yardarm.robots.kinematics import hand_of

__all__ = ["moves_a_hand", "processor_between"]


def processor_between(teleoperator: Teleoperator, robot: Robot, options: EeOptions | None = None) -> Process | None:
    """What turns the teleoperator's actions into the robot's; None if they are the robot's already."""
    asked, needed = list(teleoperator.action_features), list(robot.action_features)
    if sorted(asked) == sorted(needed):
        _check_units(teleoperator, robot)
        return None
    if moves_a_hand(teleoperator):
        return _hand_process(DeltasToEe, robot, options or EeOptions())
    if sorted(asked) == sorted(EE):
        return _hand_process(BoundedEe, robot, options or EeOptions())
    if not asked:
        raise UsageError(
            f"{teleoperator} only gives the keys that are pressed, which {robot} does not understand; use keyboard_ee"
        )
    raise UsageError(
        f"{teleoperator} cannot move {robot}: its actions are {', '.join(asked)}, and the robot's are "
        f"{', '.join(needed)}; choose a teleoperator with the same names"
    )


def moves_a_hand(teleoperator: Teleoperator) -> bool:
    """Whether it moves a hand rather than joints: the flags ``--ee.…`` are for these."""
    asked = set(teleoperator.action_features)
    return asked - {GRIPPER_MOVE} == set(DELTAS)


def _hand_process(goal: type[DeltasToEe | BoundedEe], robot: Robot, options: EeOptions) -> Process:
    hand = hand_of(robot.name, options.urdf_path, options.target_frame_name)
    joints = ArmJoints(robot, hand.joints)
    return HandProcess(goal(hand, joints, options), EeToJoints(hand, joints, options.orientation_weight))


def _check_units(teleoperator: Teleoperator, robot: Robot) -> None:
    """The same number must mean the same: degrees of a leader are no percent of a follower."""
    theirs = _units(teleoperator)
    for name, unit in robot.action_units.items():
        if theirs.get(name, unit) != unit:
            raise UsageError(
                f"{name} of {teleoperator} is in {_words(theirs[name])}, and that of {robot} in {_words(unit)}; "
                "give both the same use_degrees, or use the leader of that arm"
            )


def _words(unit: str) -> str:
    return "degrees" if unit == "degrees" else "percent of its range"


def _units(teleoperator: Teleoperator) -> Mapping[str, str]:
    bus = getattr(teleoperator, "bus", None)
    return {} if bus is None else {f"{name}.pos": motor.unit for name, motor in bus.motors.items()}
