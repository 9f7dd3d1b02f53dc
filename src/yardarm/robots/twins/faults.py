"""Faults between the motors and the port: what cables, adapters and power supplies do to answers.

    --twin.faults=0.02                           2% of the answers are disturbed, in all ways equally often
    --twin.faults=lost=0.01,late=0.02,seed=3     each way at a rate of its own
    --twin.faults=unplugged=elbow_flex@10-12     a motor without power from second 10 to 12
    --twin.faults=overload=gripper@200r          a motor that complains from request 200 on
    --twin.faults=brownout@20                    all motors without power for a moment

An answer suffers one of these at most: it is lost, late, corrupted (one byte is another), truncated, or preceded by
noise. A motor never overtakes itself: what it says after a late answer comes later still.
"""

from __future__ import annotations

import math
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from yardarm.errors import UsageError, nearest
from yardarm.robots.motors.dynamixel import HEADER as DYNAMIXEL_HEADER
from yardarm.robots.motors.register_bus import Motor
from yardarm.robots.twins.chain import MotorChain
from yardarm.robots.twins.port import Outgoing
from yardarm.robots.twins.servo import Servo

__all__ = ["FaultInjector", "FaultPlan", "parse_faults"]

DISTURBANCES = ("lost", "late", "corrupted", "truncated", "noise")
KNOWN = (*DISTURBANCES, "unplugged", "overload", "brownout", "lateness", "seed")
# How late an answer is, in seconds: after the computer has given it up, and perhaps asked again.
LATENESS_S = (0.06, 0.2)
BROWNOUT_S = 0.5
MOST_NOISE = 3


@dataclass(frozen=True, slots=True)
class Span:
    """From a second, or a request, to another."""

    start: float
    end: float
    unit: Literal["s", "r"] = "s"

    def holds(self, seconds: float, requests: int) -> bool:
        """Whether it is now."""
        return self.start <= (requests if self.unit == "r" else seconds) < self.end


@dataclass(frozen=True, slots=True)
class Event:
    """What happens to one motor, or to all of them (id None)."""

    kind: Literal["unplugged", "overload", "brownout"]
    id: int | None
    span: Span

    def concerns(self, servo: Servo) -> bool:
        """Whether it happens to this motor."""
        return self.id in (None, servo.id)


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """What goes wrong, how often, and when."""

    rates: Mapping[str, float]
    events: tuple[Event, ...] = ()
    lateness_s: tuple[float, float] = LATENESS_S
    seed: int = 0


def parse_faults(text: str, motors: Mapping[str, Motor]) -> FaultPlan:
    """What ``--twin.faults`` says; see the top of this file."""
    rates: dict[str, float] = {}
    events: list[Event] = []
    lateness_s, seed = LATENESS_S, 0
    for item in filter(None, (part.strip() for part in text.split(","))):
        kind, value = _split(item)
        match kind:
            case "all":
                rates |= dict.fromkeys(DISTURBANCES, _rate(item, value) / len(DISTURBANCES))
            case "unplugged" | "overload":
                name, _, when = value.partition("@")
                if name not in motors:
                    raise _wrong(item, f"there is no motor '{name}'{nearest(name, motors)} it has {', '.join(motors)}")
                events.append(Event(kind, motors[name].id, _span(item, when, math.inf)))
            case "brownout":
                events.append(Event("brownout", None, _span(item, value.removeprefix("@"), BROWNOUT_S)))
            case "lateness":
                low, _, high = value.partition("-")
                lateness_s = (_number(item, low), _number(item, high or low))
                if lateness_s[1] < lateness_s[0]:
                    raise _wrong(item, "write the smaller number first")
            case "seed":
                if not value.isdecimal():
                    raise _wrong(item, "a seed is a whole number, such as seed=3")
                seed = int(value)
            case _ if kind in DISTURBANCES:
                rates[kind] = _rate(item, value)
            case _:
                raise _wrong(item, f"there is no fault '{kind}'{nearest(kind, KNOWN)} there are {', '.join(KNOWN)}")
    if sum(rates.values()) > 1:
        raise UsageError(f"--twin.faults: the rates add up to {sum(rates.values()):g}; they must not exceed 1")
    return FaultPlan(rates, tuple(events), lateness_s, seed)


def _split(item: str) -> tuple[str, str]:
    """The name and the value of a part; a number alone is the rate of all disturbances."""
    if re.match(r"-?[\d.]", item):
        return "all", item
    kind, sign, value = re.match(r"(\w*)([=@]?)(.*)", item).groups()  # type: ignore[union-attr]
    if sign == "@" and kind != "brownout":
        raise _wrong(item, f"write {kind}=MOTOR@SECOND")
    return kind, value


def _rate(item: str, value: str) -> float:
    if not value:
        raise _wrong(item, f"say how often: {item}=0.02")
    rate = -1.0 if re.fullmatch(r"-[\d.]+", value) else _number(item, value)
    if not 0 <= rate <= 1:
        raise _wrong(item, "a rate lies between 0 and 1")
    return rate


def _span(item: str, when: str, lasting_s: float) -> Span:
    """A time: seconds after the start, or requests if an ``r`` follows; how long it lasts, if no end is given."""
    unit: Literal["s", "r"] = "r" if when.endswith("r") else "s"
    start, _, end = when.removesuffix("r").partition("-")
    if not start:
        raise _wrong(item, "say when: @10 (seconds), @10-12 (from, to), @200r (requests)")
    begins = _number(item, start)
    ends = _number(item, end) if end else begins + lasting_s
    if ends <= begins:
        raise _wrong(item, "it ends before it begins")
    return Span(begins, ends, unit)


def _number(item: str, text: str) -> float:
    if not re.fullmatch(r"\d+\.?\d*|\.\d+", text):
        raise _wrong(item, f"'{text}' is not a number")
    return float(text)


def _wrong(item: str, why: str) -> UsageError:
    return UsageError(f"--twin.faults: '{item}': {why}")


class FaultInjector:
    """Stands between motors and their port. `injected` counts what it did, by kind.

    `answer` is what the port would call without faults; `clock` tells the seconds of the plan's events.
    """

    def __init__(
        self,
        plan: FaultPlan,
        chain: MotorChain,
        answer: Callable[[bytes], Iterable[Outgoing]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.plan = plan
        self.injected: Counter[str] = Counter()
        self._chain, self._answer = chain, answer
        self._clock, self._started = clock, clock()
        self._random = random.Random(plan.seed)
        self._requests = 0
        self._going_on: set[Event] = set()
        self._late_until: dict[int, float] = {}
        chain.before_request = self._happen

    def answer(self, content: bytes) -> Iterator[Outgoing]:
        """What reaches the computer of the motors' answers."""
        for out in self._answer(content):
            yield from self._disturbed(out)

    def _disturbed(self, out: Outgoing) -> Iterator[Outgoing]:
        kind = self._draw()
        if kind is not None:
            self.injected[kind] += 1
        content, sender = out.content, _sender(out.content)
        match kind:
            case "lost":
                return
            case "late":
                comes = time.monotonic() + out.after_s + self._random.uniform(*self.plan.lateness_s)
                self._late_until[sender] = max(comes, self._late_until.get(sender, 0.0))
            case "corrupted":
                place, flips = self._random.randrange(len(content)), self._random.randrange(1, 256)
                content = content[:place] + bytes((content[place] ^ flips,)) + content[place + 1 :]
            case "truncated":
                content = content[: self._random.randrange(1, len(content))]
            case "noise":
                content = self._random.randbytes(self._random.randint(1, MOST_NOISE)) + content
        yield Outgoing(content, out.after_s, self._late_until.get(sender, 0.0))

    def _draw(self) -> str | None:
        drawn = self._random.random()
        for kind, rate in self.plan.rates.items():
            drawn -= rate
            if drawn < 0:
                return kind
        return None

    def _happen(self) -> None:
        """Before each request: begin and end what the plan says."""
        seconds = self._clock() - self._started
        due = {event for event in self.plan.events if event.span.holds(seconds, self._requests)}
        self._requests += 1
        for event in due - self._going_on:
            self.injected[event.kind] += 1
        for servo in self._chain.servos:
            before, now = (
                {event.kind for event in events if event.concerns(servo)} for events in (self._going_on, due)
            )
            if "overload" in now:
                servo.error |= servo.overload
            elif "overload" in before:
                servo.error &= ~servo.overload
            powered = now <= {"overload"}
            if servo.powered and not powered:
                servo.power_cycle()
            servo.powered = powered
        self._going_on = due


def _sender(packet: bytes) -> int:
    """The id of the motor that an answer comes from."""
    return packet[4] if packet.startswith(DYNAMIXEL_HEADER) else packet[2]
