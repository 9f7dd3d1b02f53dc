"""An arm's twin on a pseudo-terminal, for tests that need motors with a memory and no physics."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from yardarm.robots.making import ROBOTS, TELEOPERATORS
from yardarm.robots.motors import MotorCalibration
from yardarm.robots.twins.chain import MotorChain
from yardarm.robots.twins.factory import chain_of
from yardarm.robots.twins.port import Outgoing, PortServer


@dataclass(frozen=True)
class TwinPort:
    """Where it is, and its motors."""

    path: str
    chain: MotorChain
    server: PortServer

    def servo(self, id: int) -> Any:
        return next(servo for servo in self.chain.servos if servo.id == id)


@contextlib.contextmanager
def twin_of(type: str, calibration: dict[str, MotorCalibration] | None = None) -> Iterator[TwinPort]:
    """The motors of a robot or a leader; new ones, or calibrated ones."""
    registry = TELEOPERATORS if type.endswith("leader") else ROBOTS
    chain = chain_of(registry.load(type).motors, calibration)
    with PortServer(lambda content: map(Outgoing, chain.take(content))) as port:
        yield TwinPort(port.path, chain, port)
