"""What protects an arm beyond its driver: a slow start, limits of speed, load and temperature, and no nonsense."""

from __future__ import annotations

import contextlib
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from yardarm.config import option
from yardarm.errors import BusFault, RobotFault, UsageError, nearest
from yardarm.robots.cameras.camera import Camera
from yardarm.robots.clock import Clock
from yardarm.robots.device import Features
from yardarm.robots.motors import DEGREES, PERCENT, SIGNED_PERCENT, MotorHealth
from yardarm.robots.pacing import Pacer, Speeds
from yardarm.robots.reading import Reading
from yardarm.robots.robot import Robot
from yardarm.robots.strain import HOLD_S, Cooling, LoadWatch, SilenceWatch, heat_limit

__all__ = ["GuardOptions", "Guarded", "guard"]

log = logging.getLogger(__name__)

SUFFIX = ".pos"
# Per second, in each unit: about what small servos can do under load, and what is slow enough to step aside.
SPEEDS = {
    DEGREES: Speeds(usual=240, start=45),
    SIGNED_PERCENT: Speeds(usual=240, start=45),
    PERCENT: Speeds(usual=400, start=60),
}
Limit = float | dict[str, float]


@dataclass
class GuardOptions:
    """Flags below ``--guard.``: what every command puts around its robot."""

    enabled: bool = option(True, "protect the arm; false: nothing stands between an action and the motors")
    max_speed: Limit | None = option(
        None, "per second, in the joint's unit; one number, or one for each joint [240, 400 for 0 … 100]"
    )
    start_speed: Limit | None = option(
        None, "the same, until a joint has met the first action, or the first one after a pause [45, 60 for 0 … 100]"
    )
    pause_s: float = option(1.0, "after how many seconds without an action joints start slowly again")
    max_load: float = option(90.0, "in percent; a joint that stays above it yields")
    max_temperature: float | None = option(
        None, "in °C; the arm stops, and is released after 5 s [5 below the limit of its motors]"
    )
    check_every_s: float = option(1.0, "how often to look at load and temperature")

    def __post_init__(self) -> None:
        for name in ("pause_s", "max_load", "check_every_s", "max_temperature", "max_speed", "start_speed"):
            value = getattr(self, name)
            for number in value.values() if isinstance(value, dict) else [value]:
                if number is not None and not number > 0:
                    raise UsageError(f"guard.{name} must be positive, got {number}")


def guard(robot: Robot, options: GuardOptions, clock: Clock | None = None) -> Robot:
    """The robot with its guard, unless that is switched off; it goes by the robot's clock, or by another."""
    return Guarded(robot, options, clock=(clock or robot.clock).now) if options.enabled else robot


class Guarded(Robot):
    """A robot that is driven like the one inside. Send actions only through it: it knows the goals of the joints.

    A start          goals leave from where the arm is, slowly, until each joint has met its action
    A pause          the same, from the last goals: a gripper does not let go of what it holds
    An overload      the joint goes back to where it is, and tries again slowly when the load has gone
    Heat             goals freeze; 5 s later the joints are released one by one, from the tip to the base
    """

    _cooling: Cooling | None
    _goals_of_yielding: dict[str, float]
    _warned: set[str]
    seen_health: Mapping[str, MotorHealth]
    """How the motors were at the last look, which costs those who want to show it nothing."""

    def __init__(
        self, robot: Robot, options: GuardOptions | None = None, *, clock: Callable[[], float] | None = None
    ) -> None:
        self.robot = robot
        self.options = options or GuardOptions()
        self._clock = clock or robot.clock.now
        self._joints = [name for name in robot.action_features if name.endswith(SUFFIX)]
        self._pacer = Pacer(self._speeds(), self.options.pause_s)
        self._forget()

    # Acting.

    def send_action(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Send the robot on its way to an action, and return what was really sent."""
        self.robot.require_connected()
        wanted, now = self._checked(action), self._clock()
        if self._cooling is None and not self._pacer.has_started:
            self._begin(now)
        if self._cooling is None and now >= self._next_look:
            self._look(now)
        if self._cooling is not None:
            return {**wanted, **self._cool_down(self._cooling, now)}
        goals = self._pacer.step({name: self._goals_of_yielding.get(name, wanted[name]) for name in self._joints}, now)
        sent = self.robot.send_action({**wanted, **goals})
        self._pacer.correct(sent)
        return sent

    def _begin(self, now: float) -> None:
        positions = self.robot.positions()
        self._pacer.start({name: float(positions[name]) for name in self._joints if name in positions}, now)
        self._next_look = now + self.options.check_every_s

    def _checked(self, action: Mapping[str, Any]) -> dict[str, float]:
        """The action as numbers, all of which must be there, known, and finite."""
        known = self.robot.action_features
        for name in action:
            if name not in known:
                raise RobotFault(
                    f"the action has '{name}', which {self} does not have{nearest(name, known)} it has "
                    f"{', '.join(known)}"
                )
        if missing := [name for name in known if name not in action]:
            raise RobotFault(f"the action lacks {', '.join(missing)}; {self} needs all of {', '.join(known)}")
        return {name: self._finite(name, action[name]) for name in known}

    def _finite(self, name: str, value: Any) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise RobotFault(f"the action's {name} is {value!r}, not a finite number; nothing was sent to {self}")
        return number

    # Load and temperature.

    def _look(self, now: float) -> None:
        """Ask the motors how they are; who does not answer is asked again later, but not for long."""
        self._next_look = now + self.options.check_every_s
        try:
            health = self.robot.health()
        except BusFault as fault:
            log.debug("%s: %s", self, fault)  # the bus has counted it
            health = {joint.removesuffix(SUFFIX): None for joint in self._joints}
        answered = {name: own for name, own in health.items() if own is not None}
        self.seen_health = answered
        self._feel_heat(answered, now)
        try:
            self._ease(answered)
        except BusFault as fault:
            log.debug("%s: %s", self, fault)  # the bus has counted it
        self._hear_silence([name for name in health if name not in answered], now)

    def _hear_silence(self, silent: list[str], now: float) -> None:
        """Warn of motors that do not answer; send nothing any more if that lasts."""
        worrying, lost = self._silence.look(silent)
        said = "load and temperature are unknown; check power and cables"
        if worrying:
            log.warning("%s: no answer from %s: %s", self, ", ".join(worrying), said)
        if lost and self._cooling is None:
            self._next_look = now
            raise RobotFault(f"{self}: nothing is sent until {', '.join(lost)} answers again: {said}")

    def _feel_heat(self, health: Mapping[str, MotorHealth], now: float) -> None:
        """Begin to cool down if a motor is too hot."""
        hot = {
            name: (own.temperature, limit)
            for name, own in health.items()
            if own.temperature >= (limit := heat_limit(own, self.options.max_temperature))
        }
        if hot:
            self._cooling = Cooling(self._joints, self._pacer.goals, now)
            listed = ", ".join(
                f"{name} is at {found:g} °C (limit {limit:g} °C)" for name, (found, limit) in hot.items()
            )
            log.warning("%s: %s; the arm stops, and lets go in %g s: SUPPORT IT", self, listed, HOLD_S)

    def _ease(self, health: Mapping[str, MotorHealth]) -> None:
        """Let overloaded joints go back to where they are, and move again, slowly, when the load has gone."""
        yields, relieved = self._loads.look(
            {name: health[name] for name in health if f"{name}{SUFFIX}" in self._joints},
            [joint.removesuffix(SUFFIX) for joint in self._goals_of_yielding],
        )
        for name in relieved:
            del self._goals_of_yielding[f"{name}{SUFFIX}"]
            self._pacer.start_again([f"{name}{SUFFIX}"])
        positions = self.robot.positions() if yields else {}  # if this fails, the next look asks again
        self._goals_of_yielding.update({f"{name}{SUFFIX}": positions[f"{name}{SUFFIX}"] for name in yields})
        for name in set(yields) - self._warned:
            self._warned.add(name)
            log.warning(
                "%s: %s has a load of %.0f%% (limit %g%%); it yields, and tries again slowly: is something in its way?",
                *(self, name, health[name].load, self.options.max_load),
            )

    def _cool_down(self, cooling: Cooling, now: float) -> dict[str, float]:
        """Hold the last goals, then let go. Nothing is sent: a goal could bring torque back."""
        for joint in cooling.due(now):
            with contextlib.suppress(BusFault):  # the next action tries again, and the last one tells
                self.robot.release([joint.removesuffix(SUFFIX)])
                cooling.released.add(joint)
        if cooling.is_over(now):
            self._let_go()
        return dict(cooling.goals)

    def _let_go(self) -> None:
        """Release all joints, whatever was released before, and say how that went."""
        try:
            self.robot.release()
        except BusFault as fault:
            raise RobotFault(
                f"{self} is too hot, and could not be released ({fault}); switch off its power, and support it"
            ) from None
        raise RobotFault(f"{self} was too hot, and has been released; let it cool down, then connect again")

    # The life cycle.

    def connect(self, calibrate: bool = True) -> None:
        """Connect the robot; it will start slowly."""
        self._forget()
        self.robot.connect(calibrate)

    def disconnect(self) -> None:
        """Disconnect the robot."""
        self._forget()
        self.robot.disconnect()

    def _forget(self) -> None:
        self._cooling = None
        self._warned = set()
        self.seen_health = {}
        self._start_anew()

    def _start_anew(self) -> None:
        """Let the next action start slowly from where the arm is then; one that cools down goes on with that."""
        self._pacer.stop()
        self._next_look = math.inf
        self._loads, self._silence = LoadWatch(self.options.max_load), SilenceWatch()
        self._goals_of_yielding = {}

    def _speeds(self) -> dict[str, Speeds]:
        """The limits of each joint: the user's, or those of its unit."""
        usual, start = self._own_limits("max_speed"), self._own_limits("start_speed")
        units = self.robot.action_units
        speeds = {}
        for joint in self._joints:
            default = SPEEDS.get(units.get(joint, DEGREES), SPEEDS[DEGREES])
            speeds[joint] = Speeds(usual.get(joint, default.usual), start.get(joint, default.start))
        return speeds

    def _own_limits(self, name: str) -> dict[str, float]:
        limit: Limit | None = getattr(self.options, name)
        if not isinstance(limit, dict):
            return {} if limit is None else dict.fromkeys(self._joints, float(limit))
        known = [joint.removesuffix(SUFFIX) for joint in self._joints]
        own = {joint.removesuffix(SUFFIX): float(number) for joint, number in limit.items()}
        for joint in own:
            if joint not in known:
                raise UsageError(
                    f"guard.{name}: {self} has no joint '{joint}'{nearest(joint, known)} it has {', '.join(known)}"
                )
        return {f"{joint}{SUFFIX}": number for joint, number in own.items()}

    # All else is the robot's.

    @property
    def is_connected(self) -> bool:
        """Whether the robot is."""
        return self.robot.is_connected

    @property
    def is_calibrated(self) -> bool:
        """Whether the robot is."""
        return self.robot.is_calibrated

    @property
    def observation_features(self) -> Features:
        """The robot's."""
        return self.robot.observation_features

    @property
    def action_features(self) -> Features:
        """The robot's."""
        return self.robot.action_features

    @property
    def cameras(self) -> Mapping[str, Camera]:
        """The robot's."""
        return self.robot.cameras

    def use_clock(self, clock: Clock) -> None:
        """Tell the time by this clock, in the guard and in the robot; call it before `connect`."""
        self.clock, self._clock = clock, clock.now
        self.robot.use_clock(clock)

    @property
    def robot_type(self) -> str:
        """The robot's."""
        return self.robot.robot_type

    @property
    def action_units(self) -> dict[str, str]:
        """The robot's."""
        return self.robot.action_units

    def get_observation(self) -> dict[str, Any]:
        """What the robot observes."""
        return self.robot.get_observation()

    def observe(self) -> Reading:
        """What the robot observes, with its times."""
        return self.robot.observe()

    def positions(self) -> dict[str, float]:
        """Where the joints are."""
        return self.robot.positions()

    def health(self) -> dict[str, MotorHealth | None]:
        """How the motors are."""
        return self.robot.health()

    @contextlib.contextmanager
    def at_rest(self) -> Iterator[None]:
        """The robot, connected and not configured."""
        self._start_anew()
        with self.robot.at_rest():
            yield

    def release(self, joints: Iterable[str] | None = None) -> None:
        """Switch torque off, of all joints or of some; the next action starts slowly."""
        self._start_anew()
        self.robot.release(joints)

    def calibrate(self, *arguments: Any, **options: Any) -> None:
        """Calibrate the robot; the next action starts slowly."""
        self._start_anew()
        self.robot.calibrate(*arguments, **options)

    def configure(self) -> None:
        """Configure the robot; the next action starts slowly."""
        self._start_anew()
        self.robot.configure()

    def __str__(self) -> str:
        return str(self.robot)

    def __getattr__(self, name: str) -> Any:
        if name == "robot":  # nothing is here yet: it is being copied
            raise AttributeError(name)
        return getattr(self.robot, name)

    def __del__(self) -> None:
        """The robot may be in use without its guard."""
