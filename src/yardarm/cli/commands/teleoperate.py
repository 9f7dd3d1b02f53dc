"""``yardarm teleoperate``: a person moves an arm with a leader, or with another teleoperator."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from yardarm.cli.control_session import (
    ArmSession,
    WatchOptions,
    on_stage,
    protection_rows,
    say_timing,
    take_protection,
    viewed,
    watched,
)
from yardarm.cli.devices import device_rows, take_arms
from yardarm.cli.flags import Flags, describe, listed
from yardarm.cli.hand_flags import ee_rows, take_process
from yardarm.config import decode, option, positive
from yardarm.control import teleoperation
from yardarm.robots.twins import Stage

__all__ = ["TeleoperateOptions", "run"]

COMMAND = "teleoperate"


@dataclass
class TeleoperateOptions(WatchOptions):
    """Flags of the command itself."""

    fps: float = option(60, "how often the arm is read and moved, per second")
    teleop_time_s: float | None = option(None, "how long [until Ctrl-C]")

    def __post_init__(self) -> None:
        """Refuse rates and times that are none."""
        super().__post_init__()
        positive("--fps", self.fps)
        if self.teleop_time_s is not None:
            positive("--teleop_time_s", self.teleop_time_s)


def run(words: Sequence[str]) -> int:
    """Let the teleoperator move the arm until its time is over, or Ctrl-C."""
    return on_stage(words, COMMAND, _help, _run)


def _run(data: dict[str, Any], stage: Stage) -> int:
    robot, teleoperator = take_arms(data, COMMAND)
    protection = take_protection(data, COMMAND)
    process = take_process(data, teleoperator, robot, COMMAND)
    options: TeleoperateOptions = decode(TeleoperateOptions, "", data, COMMAND)
    arm = ArmSession(stage, robot, protection)
    loop = arm.loop(options.fps)
    state = arm.state(loop, str(teleoperator))
    state.note = teleoperator.legend
    try:
        with (
            viewed(state, options),
            teleoperator,
            arm.robot,
            watched(state, options),
            contextlib.suppress(KeyboardInterrupt),
        ):
            for tick in teleoperation(
                arm.robot, teleoperator, loop, process=process, seconds=options.teleop_time_s, hold=arm.hold
            ):
                state.update(tick)
    finally:
        say_timing(loop, options)
    return 0


def _help(flags: Flags) -> str:
    sections = [*device_rows(flags), *ee_rows(), *protection_rows()]
    return (
        "Move an arm with a leader arm, or with another teleoperator. The arm first goes slowly to where the leader\n"
        "is. Torque is released at the end, however it ends.\n\n"
        f"usage: yardarm {COMMAND} --robot.type=… --robot.port=… --teleop.type=… --teleop.port=… [--flag=value …]\n\n"
        + listed([*describe(TeleoperateOptions), *sections])
        + "\n\nexample:\n"
        f"  yardarm {COMMAND} --robot.type=so101_follower --robot.port=/dev/ttyACM0 --robot.id=blue \\\n"
        "      --teleop.type=so101_leader --teleop.port=/dev/ttyACM1 --teleop.id=blue"
    )
