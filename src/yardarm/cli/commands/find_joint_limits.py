"""``yardarm find-joint-limits``: how far an arm's joints go, and where its hand gets."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yardarm.cli.control_session import on_stage
from yardarm.cli.devices import device_rows, take_robot, take_teleoperator
from yardarm.cli.flags import Flags, describe, listed
from yardarm.config import decode, option, positive
from yardarm.errors import UsageError
from yardarm.robots import Clock, GuardOptions, Operator, Robot, Teleoperator, TerminalOperator, guard
from yardarm.robots.kinematics import HAND, Kinematics, read_urdf
from yardarm.robots.limits import Extremes, follow_joints
from yardarm.robots.twins import StageOptions

__all__ = ["run"]

COMMAND = "find-joint-limits"
GUARD = "guard"
AXES = ("x", "y", "z")
Move = Callable[[], dict[str, float]]


@dataclass
class LimitsOptions:
    """Flags of the command itself."""

    teleop_time_s: float = option(30.0, "how long to move the arm through its whole reach; Ctrl-C ends it earlier")
    warmup_time_s: float = option(5.0, "how long to try it out before that")
    control_loop_fps: int = option(30, "how often the arm is moved and read, per second")
    urdf_path: Path | None = option(None, "the arm's URDF file: shows where its hand gets, too")
    target_frame_name: str | None = option(None, f"which of the file's frames is the hand [{HAND}]")

    def __post_init__(self) -> None:
        """Refuse times that are none."""
        positive("--teleop_time_s", self.teleop_time_s)
        positive("--control_loop_fps", self.control_loop_fps)
        if self.warmup_time_s < 0:
            raise UsageError(f"--warmup_time_s must not be negative, got {self.warmup_time_s}")


def run(words: Sequence[str]) -> int:
    """Let the arm be moved, and print the extremes; exit code 1 if there are none."""
    return on_stage(words, COMMAND, _help, lambda data, stage: _run(data, stage.clock))


def _run(data: dict[str, Any], clock: Clock) -> int:
    robot, leader = take_robot(data, COMMAND), take_teleoperator(data, COMMAND)
    protection: GuardOptions = decode(GuardOptions, GUARD, data.pop(GUARD, {}), COMMAND)
    options: LimitsOptions = decode(LimitsOptions, "", data, COMMAND)
    if robot is None:
        raise UsageError(
            "which arm? Give --robot.type=so101_follower --robot.port=…; with --teleop.… a leader moves it"
        )
    hand = _hand(robot, options)
    operator = TerminalOperator()
    joints, places = Extremes(), Extremes()
    guarded = guard(robot, protection)
    guarded.use_clock(clock)
    with _moved(guarded, leader, operator) as move, contextlib.suppress(KeyboardInterrupt):
        if options.warmup_time_s:
            operator.say(f"Warm-up, {options.warmup_time_s:g} s: move the arm; nothing counts yet.")
            follow_joints(move, options.warmup_time_s, options.control_loop_fps, operator, Extremes(), clock)
        operator.say(f"Now move all joints to their ends, {options.teleop_time_s:g} s. Ctrl-C ends it earlier.")
        watched = _watched(move, hand, places)
        follow_joints(watched, options.teleop_time_s, options.control_loop_fps, operator, joints, clock)
    return _print(joints, places)


@contextlib.contextmanager
def _moved(robot: Robot, leader: Teleoperator | None, operator: Operator) -> Iterator[Move]:
    """What moves the arm one step further, and says where it is: a leader, or nothing, for an arm in your hands."""
    if leader is None:
        with robot.at_rest():
            if not robot.is_calibrated:
                raise UsageError(f"{robot} does not have the calibration of its file; run `yardarm calibrate` first")
            operator.ask(f"Hold {robot}: ENTER releases its motors, and you move it by hand.")
            robot.release()
            yield lambda: _joints(robot)
        return
    with leader, robot:

        def follow() -> dict[str, float]:
            robot.send_action(leader.get_action())
            return _joints(robot)

        yield follow


def _joints(robot: Robot) -> dict[str, float]:
    return {name: value for name, value in robot.get_observation().items() if name.endswith(".pos")}


def _hand(robot: Robot, options: LimitsOptions) -> Kinematics | None:
    """What computes where the hand is, if there is a file to read it from."""
    if options.urdf_path is None:
        if options.target_frame_name is not None:
            raise UsageError("--target_frame_name names a frame of a URDF file; add --urdf_path=…, or omit it")
        return None
    if not getattr(robot.config, "use_degrees", False):
        raise UsageError(
            f"--urdf_path needs joints in degrees, and {robot} has them in percent; add --robot.use_degrees=true"
        )
    hand = read_urdf(options.urdf_path, options.target_frame_name or HAND)
    if missing := [name for name in hand.joints if f"{name}.pos" not in robot.observation_features]:
        raise UsageError(f"{options.urdf_path} has joints that {robot} has not: {', '.join(missing)}")
    return hand


def _watched(move: Move, hand: Kinematics | None, places: Extremes) -> Move:
    """The same moves, with where the hand gets noted."""

    def step() -> dict[str, float]:
        positions = move()
        if hand is not None:
            position = hand.position({name.removesuffix(".pos"): value for name, value in positions.items()})
            places.add(dict(zip(AXES, position.tolist(), strict=True)))
        return positions

    return step


def _print(joints: Extremes, places: Extremes) -> int:
    """Print the extremes as LeRobot does, to be copied."""
    if not joints.low:
        print("nothing was recorded: it ended during the warm-up")
        return 1
    print(f"\n# joints ({', '.join(joints.low)}), in their units")
    print(f"max_pos = {_rounded(joints.high)}\nmin_pos = {_rounded(joints.low)}")
    if places.low:
        print("\n# the hand (x, y, z), in metres from the base")
        print(f"max_ee = {_rounded(places.high)}\nmin_ee = {_rounded(places.low)}")
    return 0


def _rounded(values: Mapping[str, float]) -> list[float]:
    return [round(value, 4) for value in values.values()]


def _help(flags: Flags) -> str:
    sections = [*describe(GuardOptions, f"{GUARD}."), *describe(StageOptions, "twin."), *device_rows(flags)]
    return (
        "Find how far an arm's joints go: a leader moves the arm, or you move it by hand, through its whole reach. "
        "With a URDF\nfile, it also finds where the hand gets.\n\n"
        f"usage: yardarm {COMMAND} --robot.type=… --robot.port=… [--teleop.type=… --teleop.port=…] [--flag=value …]\n\n"
        + listed([*describe(LimitsOptions), *sections])
        + "\n\nexample, by hand:\n"
        f"  yardarm {COMMAND} --robot.type=so101_follower --robot.port=/dev/ttyACM0 --robot.id=blue"
    )
