"""The joints of an arm that carry its hand: in the robot's own units, and in degrees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from yardarm.errors import UsageError
from yardarm.robots import Robot

__all__ = ["GRIPPER", "ArmJoints"]

DEGREES = "degrees"
GRIPPER = "gripper.pos"


@dataclass(frozen=True, slots=True)
class _Line:
    """A straight line between a unit and degrees, from one end of a joint to the other."""

    low: float
    high: float
    low_deg: float
    high_deg: float

    def degrees(self, value: float) -> float:
        return self.low_deg + (value - self.low) / (self.high - self.low) * (self.high_deg - self.low_deg)

    def value(self, degrees: float) -> float:
        return self.low + (degrees - self.low_deg) / (self.high_deg - self.low_deg) * (self.high - self.low)


class ArmJoints:
    """Reads and writes joints in degrees. The robot's calibration is looked at when it is connected."""

    def __init__(self, robot: Robot, joints: Sequence[str]) -> None:
        self.names = list(joints)
        self._robot = robot
        self._known: dict[str, _Line | None] | None = None
        others = set(robot.action_features) - {f"{name}.pos" for name in joints}
        missing = [name for name in joints if f"{name}.pos" not in robot.action_features]
        if missing or others != {GRIPPER}:
            odd = f"has no {', '.join(missing)}" if missing else f"has {', '.join(sorted(others - {GRIPPER}))}, too"
            raise UsageError(f"the hand's joints are {', '.join(joints)}, but {robot} {odd}; check --ee.urdf_path")

    def degrees(self, values: Mapping[str, Any]) -> dict[str, float]:
        """The joints of an observation, in degrees."""
        return {
            name: float(values[f"{name}.pos"]) if line is None else line.degrees(float(values[f"{name}.pos"]))
            for name, line in self._lines.items()
        }

    def action(self, degrees: Mapping[str, float]) -> dict[str, float]:
        """Joints in degrees, as the robot's action has them."""
        return {
            f"{name}.pos": degrees[name] if line is None else line.value(degrees[name])
            for name, line in self._lines.items()
        }

    def limits(self) -> dict[str, tuple[float, float]]:
        """How far the calibration lets joints go, in degrees."""
        found = {}
        for name in self.names:
            scale = self._scale(name)
            if scale is not None:
                own = replace(scale, unit=DEGREES)
                ends = own.value(scale.calibration.range_min), own.value(scale.calibration.range_max)
                found[name] = (min(ends), max(ends))
        return found

    @property
    def _lines(self) -> dict[str, _Line | None]:
        if self._known is None:
            self._known = {name: self._line(name) for name in self.names}
        return self._known

    def _line(self, name: str) -> _Line | None:
        """None: it is in degrees already."""
        unit = self._robot.action_units.get(f"{name}.pos", DEGREES)
        scale = None if unit == DEGREES else self._scale(name)
        if scale is None:
            return None
        low, high = scale.calibration.range_min, scale.calibration.range_max
        in_degrees = replace(scale, unit=DEGREES)
        return _Line(scale.value(low), scale.value(high), in_degrees.value(low), in_degrees.value(high))

    def _scale(self, name: str) -> Any:
        """Between a motor's steps and its unit; None for a robot without a bus."""
        bus = getattr(self._robot, "bus", None)
        return None if bus is None else bus.scale(name)
