"""How a motor sits in its joint: which step of its encoder is which angle, and how far the joint turns."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from yardarm.robots.motors import PERCENT, SIGNED_PERCENT, MotorCalibration
from yardarm.robots.motors.register_bus import Motor
from yardarm.robots.twins.factory import new_servo

__all__ = ["RAD_PER_STEP", "Mounting", "Travel", "calibration_of", "mount", "shown_value"]

STEPS = 4096
RAD_PER_STEP = 2 * math.pi / STEPS
# A new motor is mounted so that the middle of its turn is the joint's zero.
MIDDLE = (STEPS - 1) / 2


@dataclass(frozen=True, slots=True)
class Travel:
    """The ends of a joint, in radians."""

    low: float
    high: float

    @property
    def middle(self) -> float:
        """Between the ends."""
        return (self.low + self.high) / 2


@dataclass(frozen=True, slots=True)
class Mounting:
    """A motor in its joint. Users see the joint in `unit`, as the driver of the calibrated arm shows it."""

    travel: Travel
    shown: Travel
    """The range whose ends the unit calls 0 and 100."""
    unit: str
    zero: float
    """The encoder's step at the joint's zero."""
    direction: int = 1
    """−1: the motor sits the other way round."""

    def shaft(self, angle: float) -> float:
        """The encoder's step at an angle."""
        return self.zero + self.direction * angle / RAD_PER_STEP

    def angle(self, shaft: float) -> float:
        """The angle at an encoder's step."""
        return self.direction * (shaft - self.zero) * RAD_PER_STEP

    def value(self, angle: float) -> float:
        """An angle in the user's unit."""
        return shown_value(angle, (self.shown.low, self.shown.high), self.unit)

    def angle_of(self, value: float) -> float:
        """The angle that a value in the user's unit means, no farther than the joint turns."""
        if self.unit == PERCENT:
            angle = self.shown.low + value / 100 * (self.shown.high - self.shown.low)
        elif self.unit == SIGNED_PERCENT:
            angle = self.shown.low + (value + 100) / 200 * (self.shown.high - self.shown.low)
        else:
            angle = math.radians(value)
        return min(max(angle, self.travel.low), self.travel.high)


def shown_value(angle: float, shown: tuple[float, float], unit: str) -> float:
    """An angle in a user's unit, where a percentage is of the range that is `shown`."""
    share = (angle - shown[0]) / (shown[1] - shown[0])
    if unit == PERCENT:
        return 100 * share
    return 200 * share - 100 if unit == SIGNED_PERCENT else math.degrees(angle)


def mount(motor: Motor, travel: Travel, calibration: MotorCalibration | None, reversed: bool = False) -> Mounting:
    """Put a motor into a joint. With a calibration, it sits so that the calibration is right, and so are the ends."""
    direction = -1 if reversed else 1
    if calibration is None:
        return Mounting(travel, travel, motor.unit, MIDDLE, direction)
    servo = new_servo(motor.model, motor.id)
    servo.calibrate(calibration)
    middle = travel.middle if motor.unit == PERCENT else 0.0
    half = (calibration.range_max - calibration.range_min) / 2
    zero = servo.shaft_at(calibration.range_min + half) - direction * middle / RAD_PER_STEP
    shown = Travel(middle - half * RAD_PER_STEP, middle + half * RAD_PER_STEP)
    is_full_turn = calibration.range_max - calibration.range_min >= STEPS - 1
    return Mounting(travel if is_full_turn else shown, shown, motor.unit, zero, direction)


def calibration_of(
    motors: Mapping[str, Motor], travels: Mapping[str, Travel], full_turn: Collection[str], reversed: Collection[str]
) -> dict[str, MotorCalibration]:
    """What a careful person would find on an arm with new motors: the joints' ends, and no offset."""
    found = {}
    for name, motor in motors.items():
        ends = [round(MIDDLE + end / RAD_PER_STEP) for end in (travels[name].low, travels[name].high)]
        if name in full_turn or ends[1] - ends[0] >= STEPS:
            ends = [0, STEPS - 1]
        offset = STEPS if name in reversed else 0
        found[name] = MotorCalibration(
            motor.id, int(name in reversed), offset, max(ends[0], 0), min(ends[1], STEPS - 1)
        )
    return found
