"""An arm of which only the joints' positions are known, for pictures of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from yardarm.robots.bus_device import BusDevice
from yardarm.robots.making import ROBOTS
from yardarm.robots.pair import ArmPair
from yardarm.robots.robot import Robot
from yardarm.robots.twins.arm_model import model_for
from yardarm.robots.twins.body import ArmBody
from yardarm.robots.twins.mounting import mount

__all__ = ["PosedArm", "posed_arms"]

Positions = Callable[[], Mapping[str, Any]]


class PosedArm:
    """A body that stands as an arm's joints do. `positions` says where they are, under the names of observations."""

    def __init__(self, type: str, arm: BusDevice, positions: Positions, prefix: str = "") -> None:
        self.type, self._positions, self._prefix = type, positions, prefix
        self.model = model_for(arm.name, arm.bus.motors)
        self._body = ArmBody(self.model)
        travels = self._body.travels
        self._mountings = {
            name: mount(motor, travels[name], arm.calibration.get(name), name in arm.reversed)
            for name, motor in arm.bus.motors.items()
        }

    def angles(self) -> list[float]:
        """All angles of the body, now."""
        positions = self._positions()
        self._body.place(
            {
                name: mounting.angle_of(float(positions[feature]))
                for name, mounting in self._mountings.items()
                if (feature := f"{self._prefix}{name}.pos") in positions
            }
        )
        return self._body.state()


def posed_arms(robot: Robot, positions: Positions) -> dict[str, PosedArm]:
    """The arms of a robot that have a model, by name: "arm", or "left" and "right". Needs MuJoCo, if there is one."""
    inner: Any = getattr(robot, "robot", robot)  # inside of its guard
    if isinstance(inner, BusDevice):
        arms, prefixes = {"arm": inner}, {"arm": ""}
    elif isinstance(inner, ArmPair):
        arms, prefixes = inner.arms, {side: f"{side}_" for side in inner.arms}
    else:
        return {}
    found = {}
    for name, arm in arms.items():
        type = _type_of(arm)
        if type is not None and model_for(arm.name, arm.bus.motors).kind != "bench":
            found[name] = PosedArm(type, arm, positions, prefixes[name])
    return found


def _type_of(arm: BusDevice) -> str | None:
    return next((name for name in ROBOTS.names() if ROBOTS.load(name) is type(arm)), None)
