"""What a loop does just now, for whoever watches it from another thread: a table, a page."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from yardarm.control.loop import Loop
from yardarm.control.tick import Tick
from yardarm.robots import Frame, Guarded, Robot

__all__ = ["Button", "JointNow", "LiveState"]

# How many turns a chart of the loop's jitter shows.
SHOWN_TURNS = 300
SUFFIX = ".pos"


@dataclass(frozen=True, slots=True)
class Button:
    """Something that whoever watches can do. `press` is called in a thread of its own."""

    name: str
    label: str
    key: str
    """The key that does the same, as browsers call it: ArrowRight, Escape."""
    press: Callable[[], object]


@dataclass(frozen=True, slots=True)
class JointNow:
    """A joint: where it is asked to go, and where it is."""

    name: str
    unit: str
    asked: float | None
    position: float
    load: float | None
    """In percent; None: not known."""
    temperature: float | None


class LiveState:
    """The newest turn, and how well the loop keeps its rate. `update` costs the loop some microseconds."""

    def __init__(
        self, robot: Robot, loop: Loop, teleoperator: str = "", title: str = "", buttons: Sequence[Button] = ()
    ) -> None:
        self.robot, self.loop, self.teleoperator = robot, loop, teleoperator
        self.title = title or "Teleoperation"
        self.buttons = tuple(buttons)
        self.note = ""
        """What goes on, in one line; whoever owns the loop may change it."""
        self.over = False
        """Whether the loop has ended."""
        self.twin: Any = None
        """The twin that the robot is, if it is one: a page then draws it with what is on its table."""
        self.tick: Tick | None = None
        self._began = loop.clock.now()
        self._turns: deque[tuple[float, float]] = deque(maxlen=SHOWN_TURNS)
        self._lock = threading.Lock()

    def update(self, tick: Tick) -> None:
        """Take over a turn."""
        late = tick.began_s - tick.due_s
        with self._lock:
            self.tick = tick
            self._turns.append((tick.began_s, late))

    def turns(self) -> list[tuple[float, float]]:
        """When the newest turns began, and how much too late, in seconds."""
        with self._lock:
            return list(self._turns)

    @property
    def elapsed_s(self) -> float:
        """How long it has been running."""
        return self.loop.clock.now() - self._began

    @property
    def rate(self) -> float:
        """Turns per second, over the last second or so; 0 while there are none."""
        own = self.turns()[-max(2, int(self.loop.fps)) :]
        if len(own) < 2 or self.loop.clock.now() - own[-1][0] > 1.0:
            return 0.0
        return (len(own) - 1) / max(own[-1][0] - own[0][0], 1e-9)

    def joints(self) -> list[JointNow]:
        """How the joints are."""
        tick, units = self.tick, self.robot.action_units
        if tick is None:
            return []
        health = self.robot.seen_health if isinstance(self.robot, Guarded) else {}
        rows = []
        for name, value in tick.reading.values.items():
            if not name.endswith(SUFFIX):
                continue
            own = health.get(joint := name.removesuffix(SUFFIX))
            load, temperature = (own.load, own.temperature) if own else (None, None)
            rows.append(JointNow(joint, units.get(name, ""), tick.asked.get(name), float(value), load, temperature))
        return rows

    @property
    def frames(self) -> Mapping[str, Frame]:
        """The newest pictures."""
        return {} if self.tick is None else self.tick.reading.frames

    def ages(self) -> dict[str, float]:
        """How old each camera's picture is now, in seconds."""
        now = self.loop.clock.now()
        return {name: max(0.0, now - frame.captured_s) for name, frame in self.frames.items()}

    def to_data(self) -> dict[str, Any]:
        """All of it, for a page."""
        ages, timing = self.ages(), self.loop.timing
        return {
            "title": self.title,
            "robot": str(self.robot),
            "teleoperator": self.teleoperator,
            "note": self.note,
            "trouble": self.loop.trouble,
            "over": self.over,
            "elapsed": self.elapsed_s,
            "rate": self.rate,
            "joints": [asdict(joint) for joint in self.joints()],
            "cameras": [
                {"name": name, "age": ages[name], "number": frame.number, "size": list(frame.picture.shape[:2])}
                for name, frame in self.frames.items()
                if name in ages
            ],
            "timing": timing.to_data(),
            "summary": timing.summary(),
            "turns": [late for _, late in self.turns()],
            "buttons": [{"name": own.name, "label": own.label, "key": own.key} for own in self.buttons],
        }
