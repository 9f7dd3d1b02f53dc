"""A twin that a person moves by hand: each place is held until the program has looked at it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from tests.helpers import wait_until
from yardarm.robots.making import ROBOTS, TELEOPERATORS
from yardarm.robots.motors import MotorCalibration
from yardarm.robots.twins.chain import MotorChain
from yardarm.robots.twins.factory import chain_of
from yardarm.robots.twins.port import Outgoing, PortServer
from yardarm.robots.twins.servo import Servo

MIDDLE = 2048
# What a person shows: both ends, by less than half a turn at once.
SWEEP = (MIDDLE, 1100, 600, 1500, 2800, 3500, MIDDLE)


class MovedTwin:
    """An arm in somebody's hands."""

    def __init__(self, chain: MotorChain) -> None:
        self.chain = chain
        self.path = ""
        self._requests = 0

    def answer(self, content: bytes) -> Iterable[Outgoing]:
        self._requests += 1
        return [Outgoing(answer) for answer in self.chain.take(content)]

    def servo(self, id: int) -> Servo:
        return next(servo for servo in self.chain.servos if servo.id == id)

    def move(self, *places: int) -> None:
        """Move all joints from place to place."""
        for place in places:
            for servo in self.chain.servos:
                servo.shaft = place
            self.wait_until_seen()

    def wait_until_seen(self) -> None:
        """Wait until the program has asked twice, so that the second answer is all of now."""
        seen = self._requests + 2
        wait_until(lambda: self._requests > seen)


@contextlib.contextmanager
def moved_twin(type: str, calibration: dict[str, MotorCalibration] | None = None) -> Iterator[MovedTwin]:
    """The motors of an arm, on a port."""
    registry = TELEOPERATORS if type.endswith("leader") else ROBOTS
    twin = MovedTwin(chain_of(registry.load(type).motors, calibration))
    with PortServer(twin.answer) as port:
        twin.path = port.path
        yield twin
