"""A person moves an arm: in each turn the arm is observed, the person's wish read, and sent to the arm.

    observe ──▶ ask the teleoperator ──▶ process ──▶ send through the guard ──▶ Tick

Cameras take their pictures in threads of their own, so to observe is to read the joints, and to take the newest
pictures. If anything is missing, old, or no number, nothing is sent: motors then stay at their last goals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from yardarm.control.holding import Holding, HoldOptions, HoldReason, finite_numbers, observed
from yardarm.control.loop import Loop
from yardarm.control.process import Process
from yardarm.control.tick import Tick
from yardarm.errors import RobotFault, YardarmError, one_line
from yardarm.robots import Reading, Robot, Teleoperator

__all__ = ["teleoperation"]


def teleoperation(
    robot: Robot,
    teleoperator: Teleoperator,
    loop: Loop,
    *,
    process: Process | None = None,
    seconds: float | None = None,
    stop: Callable[[], bool] | None = None,
    may_act: Callable[[], bool] | None = None,
    hold: HoldOptions | None = None,
) -> Iterator[Tick]:
    """Let a person move the arm, for some time or until `stop` says so. Both must be connected; guard the robot.

    There is a tick for each turn in which something was sent. While `may_act` says no, nothing is.
    """
    options = hold or HoldOptions()
    holding = Holding(options, loop)
    for beat in loop.beats(seconds):
        if stop is not None and stop():
            return
        try:
            with loop.timing.part("observe"):
                reading = observed(robot, options, loop.clock)
            if may_act is not None and not may_act():  # asked before the teleoperator: no wish adds up meanwhile
                holding.wait(getattr(may_act, "hint", "it may not act now"))
                continue
            with loop.timing.part("ask"):
                asked = _asked(teleoperator, process, reading)
        except HoldReason as reason:
            holding.hold(reason)
            continue
        holding.go_on()
        with loop.timing.part("send"):
            sent = robot.send_action(asked)
        yield Tick(beat.index, beat.due_s, beat.began_s, reading, asked, sent, loop.clock.now())


def _asked(teleoperator: Teleoperator, process: Process | None, reading: Reading) -> Mapping[str, float]:
    """What the person wants, in the robot's names. Whatever fails in a teleoperator, it is named."""
    try:
        action = teleoperator.get_action()
        wanted = action if process is None else process(action, reading)
    except RobotFault as error:
        raise HoldReason(teleoperator, f"{teleoperator} does not answer: {error}") from error
    except YardarmError:
        raise
    except Exception as error:
        raise RobotFault(f"{teleoperator} failed: {one_line(error)}") from error
    return finite_numbers(teleoperator, "asks for", wanted)
