"""An arm's twin on a pseudo-terminal, for tests that need motors with a memory and no physics."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from yardarm.robots.making import ROBOTS, TELEOPERATORS
from yardarm.robots.motors import MotorCalibration
from yardarm.robots.twins.chain import MotorChain
from yardarm.robots.twins.factory import chain_of
from yardarm.robots.twins.faults import FaultInjector, parse_faults
from yardarm.robots.twins.port import Outgoing, PortServer


@dataclass(frozen=True)
class TwinPort:
    """Where it is, its motors, and what was done to their answers."""

    path: str
    chain: MotorChain
    injected: Counter[str]

    def servo(self, id: int) -> Any:
        return next(servo for servo in self.chain.servos if servo.id == id)


@contextlib.contextmanager
def twin_of(type: str, calibration: dict[str, MotorCalibration] | None = None, faults: str = "") -> Iterator[TwinPort]:
    """The motors of a robot or a leader; new ones, or calibrated ones; with faults on the way, if any."""
    registry = TELEOPERATORS if type.endswith("leader") else ROBOTS
    motors = registry.load(type).motors
    chain = chain_of(motors, calibration)
    injector = FaultInjector(parse_faults(faults, motors), chain, lambda content: map(Outgoing, chain.take(content)))
    with PortServer(injector.answer) as port:
        yield TwinPort(port.path, chain, injector.injected)
