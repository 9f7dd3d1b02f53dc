"""Motors as they come out of their boxes: all have the same id, so a person plugs in one after the other."""

from __future__ import annotations

from collections.abc import Mapping

from yardarm.robots.motors.register_bus import Motor
from yardarm.robots.motors.wire import BROADCAST
from yardarm.robots.twins.chain import MotorChain
from yardarm.robots.twins.servo import Servo

__all__ = ["UnpackedMotors"]

FACTORY_ID = 1


class UnpackedMotors:
    """Does what the person does: the last joint's motor first, the next one when it has its id, and then all."""

    def __init__(self, chain: MotorChain, motors: Mapping[str, Motor]) -> None:
        self._chain = chain
        self._waiting: list[tuple[Servo, int]] = [
            (servo, motor.id) for servo, motor in zip(chain.servos, motors.values(), strict=True)
        ]
        self._all = list(chain.servos)
        for servo in self._all:
            servo.set("ID", FACTORY_ID)
            servo.keep()
        self._plug_in()
        chain.before_call = self._look

    def _plug_in(self) -> None:
        self._plugged, self._wanted = self._waiting.pop()
        self._chain.servos = [self._plugged]

    def _look(self, id: int) -> None:
        """When this one is done: whoever calls everybody has asked for the next, whoever calls another, for all."""
        if self._plugged.id != self._wanted or id == self._wanted:
            return
        if not self._waiting:
            self._chain.servos = self._all
        elif id == BROADCAST:
            self._plug_in()
