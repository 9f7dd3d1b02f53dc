"""Feetech's smaller motors on a bus: SCS. They put the high byte first, and know no sync read and no offset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from yardarm.errors import UsageError
from yardarm.robots.motors.calibration import MotorCalibration
from yardarm.robots.motors.feetech_bus import FASTEST, FeetechBus
from yardarm.robots.motors.register_bus import RETRIES, MotorNames
from yardarm.robots.motors.wire import Status

__all__ = ["ScsBus"]


class ScsBus(FeetechBus):
    """They are asked one by one; limits are all that they keep of a calibration."""

    byte_order = "big"
    wraps = False

    def configure_motors(self, acceleration: int = FASTEST) -> None:
        """Answer at once, and accelerate freely."""
        for name in self.motors:
            self.write("Return_Delay_Time", name, 0)
            self.write("Acceleration", name, acceleration)

    def read_calibration(self) -> dict[str, MotorCalibration]:
        """The limits that the motors have."""
        limits = {
            name: [int(self.read(register, name)) for register in ("Min_Position_Limit", "Max_Position_Limit")]
            for name in self.motors
        }
        return {name: MotorCalibration(self.motors[name].id, 0, 0, low, high) for name, (low, high) in limits.items()}

    def check_calibration(self, name: str, calibration: MotorCalibration) -> None:
        """Raise if a motor cannot keep a calibration."""
        self.encoded("Min_Position_Limit", name, calibration.range_min)
        self.encoded("Max_Position_Limit", name, calibration.range_max)

    def write_calibration(self, calibration: Mapping[str, MotorCalibration]) -> None:
        """Write limits into the motors, which must be without torque."""
        for name, own in calibration.items():
            self.write("Min_Position_Limit", name, own.range_min)
            self.write("Max_Position_Limit", name, own.range_max)
        self.calibration = dict(calibration)

    def reset_calibration(self) -> None:
        """Nothing stands between an encoder and what these motors show."""

    def home(self) -> dict[str, int]:
        """Their middle is where it is."""
        return dict.fromkeys(self.motors, 0)

    def sync_read(
        self, register: str, motors: MotorNames = None, *, normalize: bool = True, num_retry: int = RETRIES
    ) -> dict[str, float]:
        """A register of several motors, or of all, one after the other."""
        return {
            name: self.read(register, name, normalize=normalize, num_retry=num_retry) for name in self.names(motors)
        }

    def broadcast_ping(self, seconds: float = 0.0) -> dict[int, Status]:
        """They would all answer at once."""
        raise UsageError("SCS motors cannot be asked all at once; ping them one by one")

    def _read_together(self, registers: Sequence[str], names: Sequence[str]) -> dict[str, dict[str, float]]:
        return {name: {own: self.read(own, name) for own in registers} for name in names}
