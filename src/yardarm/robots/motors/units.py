"""What users call a position: degrees, −100 to 100, or 0 to 100, over a motor's calibrated range."""

from __future__ import annotations

from dataclasses import dataclass

from yardarm.robots.motors.calibration import MotorCalibration

__all__ = ["DEGREES", "PERCENT", "SIGNED_PERCENT", "Scale"]

DEGREES, SIGNED_PERCENT, PERCENT = "degrees", "range_m100_100", "range_0_100"


@dataclass(frozen=True, slots=True)
class Scale:
    """Between a motor's steps and the unit that its user reads."""

    unit: str
    resolution: int
    calibration: MotorCalibration
    reversed: bool = False
    """Whether the drive mode is applied here: Feetech's motors have none of their own."""

    def value(self, raw: int) -> float:
        """What a position means. In degrees it may lie outside of the calibrated range."""
        low, high = self.calibration.range_min, self.calibration.range_max
        if self.unit == DEGREES:
            return (raw - (low + high) / 2) * 360 / (self.resolution - 1)
        share = (min(max(raw, low), high) - low) / (high - low)
        if self.unit == PERCENT:
            return 100 - 100 * share if self.reversed else share * 100
        return -(share * 200 - 100) if self.reversed else share * 200 - 100

    def reachable(self, value: float) -> float:
        """The value, or the end that it lies beyond. In other units than degrees, beyond an end means the end."""
        if self.unit != DEGREES:
            return value
        low, high = (self.value(end) for end in (self.calibration.range_min, self.calibration.range_max))
        return min(max(value, low), high)

    def raw(self, value: float) -> int:
        """The position that a value means, inside of the calibrated range."""
        low, high = self.calibration.range_min, self.calibration.range_max
        if self.unit == DEGREES:
            return min(max(int(value * (self.resolution - 1) / 360 + (low + high) / 2), low), high)
        if self.unit == PERCENT:
            value = min(max(100 - value if self.reversed else value, 0.0), 100.0)
            return int(value / 100 * (high - low) + low)
        value = min(max(-value if self.reversed else value, -100.0), 100.0)
        return int((value + 100) / 200 * (high - low) + low)
