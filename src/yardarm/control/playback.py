"""A recorded episode, played on an arm: slowly to its first action, then at its own rate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from yardarm.control.holding import Holding, HoldOptions, HoldReason, observed
from yardarm.control.loop import Beat, Loop
from yardarm.control.recorded_episode import Numbers, RecordedEpisode
from yardarm.control.tick import Tick
from yardarm.errors import RobotFault
from yardarm.robots import Robot

__all__ = ["JointStraying", "Straying", "approach", "playback"]

# In the joints' units: how near is there, and how far is not a movement any more.
NEAR, STILL = 2.0, 0.5
SETTLED_S = 0.5
LONGEST_APPROACH_S = 60.0


def approach(robot: Robot, goal: Numbers, loop: Loop, hold: HoldOptions | None = None) -> Iterator[Tick]:
    """Bring a guarded arm to a goal, at the speed of its guard's start, and wait until it is there.

    A joint that cannot quite reach it, such as a gripper that holds something, is there when it has come to rest.
    """
    rest, still_since, before = dict[str, float](), loop.clock.now(), dict[str, float]()
    for tick in _turns(robot, loop, lambda beat: goal, LONGEST_APPROACH_S, hold):
        yield tick
        places = {name: float(tick.reading.values[name]) for name in goal if name in tick.reading.values}
        if any(abs(place - rest.get(name, 1e9)) > STILL for name, place in places.items()):
            rest, still_since = places, tick.began_s
        has_goals = tick.sent == before
        before = dict(tick.sent)
        is_near = all(abs(place - goal[name]) <= NEAR for name, place in places.items())
        if has_goals and (is_near or tick.began_s - still_since >= SETTLED_S):
            return
    raise RobotFault(f"{robot} did not get to where the episode begins within {LONGEST_APPROACH_S:g} s; is it blocked?")


def playback(robot: Robot, episode: RecordedEpisode, loop: Loop, hold: HoldOptions | None = None) -> Iterator[Tick]:
    """Send an episode's actions at their own times. What was missed is left out; the rest stays in time."""
    seconds = len(episode.actions) / episode.fps
    return _turns(robot, loop, lambda beat: episode.actions[beat.index], seconds, hold)


def _turns(
    robot: Robot, loop: Loop, wanted: Callable[[Beat], Numbers], seconds: float, hold: HoldOptions | None
) -> Iterator[Tick]:
    options = hold or HoldOptions()
    holding = Holding(options, loop)
    for beat in loop.beats(seconds):
        try:
            with loop.timing.part("observe"):
                reading = observed(robot, options, loop.clock)
        except HoldReason as reason:
            holding.hold(reason)
            continue
        holding.go_on()
        asked = wanted(beat)
        with loop.timing.part("send"):
            sent = robot.send_action(asked)
        yield Tick(beat.index, beat.due_s, beat.began_s, reading, asked, sent, loop.clock.now())


@dataclass(slots=True)
class JointStraying:
    """How far a joint was from where it was recorded."""

    count: int = 0
    total: float = 0.0
    worst: float = 0.0
    worst_index: int = 0

    def add(self, distance: float, index: int) -> None:
        """Count a turn."""
        self.count += 1
        self.total += distance
        if distance > self.worst:
            self.worst, self.worst_index = distance, index

    @property
    def mean(self) -> float:
        """On average."""
        return self.total / self.count if self.count else 0.0


class Straying:
    """How far an arm strayed from an episode, joint by joint."""

    def __init__(self, episode: RecordedEpisode) -> None:
        self._episode = episode
        self._expected = episode.states or episode.actions
        self.joints: dict[str, JointStraying] = {}

    def add(self, tick: Tick) -> None:
        """Compare a turn with the recorded one."""
        measured: Mapping[str, float] = tick.reading.values
        for name, expected in self._expected[tick.index].items():
            if name in measured:
                self.joints.setdefault(name, JointStraying()).add(abs(measured[name] - expected), tick.index)

    def lines(self) -> list[str]:
        """A table; empty if nothing was compared."""
        if not self.joints:
            return []
        width = max(map(len, self.joints))
        source = "observation.state" if self._episode.states else "action"
        lines = [f"strayed from the recording ({source}), in the joints' units:"]
        lines.append(f"  {'':<{width}}  {'mean':>6}  {'worst':>6}")
        for name, own in self.joints.items():
            at = f"at {own.worst_index / self._episode.fps:.1f} s"
            lines.append(f"  {name:<{width}}  {own.mean:6.2f}  {own.worst:6.2f}  {at}")
        return lines
