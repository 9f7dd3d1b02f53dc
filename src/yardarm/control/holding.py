"""What is not good enough to act on: the arm holds still, somebody is told, and it ends if that lasts."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yardarm.config import option, positive
from yardarm.control.loop import Loop
from yardarm.errors import RobotFault
from yardarm.robots import Clock, Reading, Robot

__all__ = ["HoldOptions", "HoldReason", "Holding", "finite_numbers", "observed"]

log = logging.getLogger(__name__)

# How often it is said that the same one is to blame; the turns are counted all the same, and the screen shows them.
OFTEN_ENOUGH = 3


@dataclass
class HoldOptions:
    """Flags below ``--hold.``: when a loop sends nothing, and the arm stays at its last goal."""

    max_camera_age_s: float = option(0.5, "how old a camera's picture may be; the arm holds still while one is older")
    patience_s: float = option(5.0, "how long to hold still until it is clear that nothing gets better; then it ends")

    def __post_init__(self) -> None:
        """Refuse times that are none."""
        positive("--hold.max_camera_age_s", self.max_camera_age_s)
        positive("--hold.patience_s", self.patience_s)


class HoldReason(Exception):
    """Why nothing can be sent in this turn; `culprit` is who is to blame."""

    def __init__(self, culprit: object, text: str) -> None:
        super().__init__(text)
        self.culprit = str(culprit)


class Holding:
    """Counts the turns without an action, and says why there is none: once, not in each turn, nor again and again."""

    def __init__(self, options: HoldOptions, loop: Loop) -> None:
        self._options, self._loop = options, loop
        self._since: float | None = None
        self._culprit = ""
        self._times: Counter[str] = Counter()
        self._is_said = False
        loop.trouble = ""

    def hold(self, reason: HoldReason) -> None:
        """Send nothing in this turn; raises if that has lasted too long."""
        now = self._loop.clock.now()
        self._loop.timing.held += 1
        self._since = now if self._since is None else self._since
        if reason.culprit != self._culprit:
            self._culprit = reason.culprit
            self._say(reason)
        self._loop.trouble = str(reason)
        if now - self._since >= self._options.patience_s:
            raise RobotFault(f"stopped, after {now - self._since:.1f} s without an action: {reason}")

    def _say(self, reason: HoldReason) -> None:
        """Say why, unless it is known by now: what comes and goes in every second would hide all else."""
        self._times[reason.culprit] += 1
        self._is_said = self._times[reason.culprit] <= OFTEN_ENOUGH
        if self._is_said:
            is_last = self._times[reason.culprit] == OFTEN_ENOUGH
            log.warning("%s; the arm holds still%s", reason, " once more; it is not said again" if is_last else "")

    def wait(self, text: str) -> None:
        """Send nothing in this turn, because a person wants it so: for as long as that takes."""
        self.go_on()
        self._loop.timing.held += 1
        self._loop.trouble = text

    def go_on(self) -> None:
        """All is well in this turn."""
        if self._since is not None:
            if self._is_said:
                log.warning("recovered after %.1f s", self._loop.clock.now() - self._since)
            self._since, self._culprit = None, ""
        self._loop.trouble = ""


def observed(robot: Robot, options: HoldOptions, clock: Clock) -> Reading:
    """What the robot measures now, if it is new and makes sense."""
    try:
        reading = robot.observe()
    except (RobotFault, TimeoutError) as error:
        raise HoldReason(robot, f"{robot} cannot be observed: {error}") from error
    now = clock.now()
    for name, frame in reading.frames.items():
        if (age := now - frame.captured_s) > options.max_camera_age_s:
            raise HoldReason(
                name,
                f"camera '{name}' has shown nothing new for {age:.1f} s (limit {options.max_camera_age_s:g} s)",
            )
    pictures = reading.frames.keys() | robot.cameras.keys()
    numbers = {name: own for name, own in reading.values.items() if name not in pictures}
    finite_numbers(robot, "measures", numbers)
    return reading


def finite_numbers(culprit: object, does: str, values: Mapping[str, Any]) -> dict[str, float]:
    """The values as numbers, or a reason to hold still that names who does what."""
    for name, value in values.items():
        if not _is_finite(value):
            raise HoldReason(culprit, f"{culprit} {does} {name} = {value!r}, which is not a finite number")
    return {name: float(value) for name, value in values.items()}


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except TypeError:
        return False
