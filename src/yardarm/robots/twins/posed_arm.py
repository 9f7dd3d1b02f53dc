"""Arms as they stand now, for pictures: a twin is known in full, of any other arm only the joints' positions are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from yardarm.robots.bus_device import BusDevice
from yardarm.robots.making import ROBOTS
from yardarm.robots.pair import ArmPair
from yardarm.robots.robot import Robot
from yardarm.robots.twins.arm_model import model_for
from yardarm.robots.twins.body import ArmBody
from yardarm.robots.twins.door import RemoteTwin, TwinSpec
from yardarm.robots.twins.mounting import Mounting, mount
from yardarm.robots.twins.painter import Painted

__all__ = ["posed_arms"]

Positions = Callable[[], Mapping[str, Any]]
BENCH = "bench"


class PosedArm:
    """A body that stands as an arm's joints do. `positions` says where they are, under the names of observations."""

    def __init__(self, type: str, arm: BusDevice, positions: Positions, prefix: str = "") -> None:
        self._arm, self._positions, self._prefix = arm, positions, prefix
        model = model_for(arm.name, arm.bus.motors)
        self.about = TwinSpec(type, model.kind, scene="", is_real_time=True, ranges={})
        self._body = ArmBody(model)
        self._mountings: dict[str, Mounting] = {}

    def angles(self) -> list[float]:
        """All angles of the body, now."""
        positions = self._positions()
        if not self._mountings:  # not before it is connected: that may calibrate it
            self._mountings = self._mounted()
        self._body.place(
            {
                name: mounting.angle_of(float(positions[feature]))
                for name, mounting in self._mountings.items()
                if (feature := f"{self._prefix}{name}.pos") in positions
            }
        )
        return self._body.state()

    def _mounted(self) -> dict[str, Mounting]:
        arm, travels = self._arm, self._body.travels
        return {
            name: mount(motor, travels[name], arm.calibration.get(name), name in arm.reversed)
            for name, motor in arm.bus.motors.items()
        }


class TwinElsewhere:
    """A twin that is seen through its door."""

    def __init__(self, twin: RemoteTwin) -> None:
        self._twin, self.about = twin, twin.spec

    def angles(self) -> list[float]:
        """All angles of its body, now."""
        return list(self._twin.state().qpos)


def posed_arms(robot: Robot, positions: Positions, twin: Painted | RemoteTwin | None = None) -> dict[str, Painted]:
    """What can be drawn of a robot: "arm", or "left" and "right"; if it is a twin, with all that is on its table.

    Raises SetupError if MuJoCo is missing.
    """
    if twin is not None:
        return {"arm": TwinElsewhere(twin) if isinstance(twin, RemoteTwin) else twin}
    inner: Any = getattr(robot, "robot", robot)  # inside of its guard
    if isinstance(inner, BusDevice):
        arms, prefixes = {"arm": inner}, {"arm": ""}
    elif isinstance(inner, ArmPair):
        arms, prefixes = inner.arms, {side: f"{side}_" for side in inner.arms}
    else:
        return {}
    found: dict[str, Painted] = {}
    for name, arm in arms.items():
        type = _type_of(arm)
        if type is not None and model_for(arm.name, arm.bus.motors).kind != BENCH:
            found[name] = PosedArm(type, arm, positions, prefixes[name])
    return found


def _type_of(arm: BusDevice) -> str | None:
    return next((name for name in ROBOTS.names() if ROBOTS.load(name) is type(arm)), None)
