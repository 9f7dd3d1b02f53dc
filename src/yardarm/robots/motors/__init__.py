"""Motors on a serial bus: their packets, registers, units and calibration."""

from yardarm.robots.motors.bus import MotorBus
from yardarm.robots.motors.calibration import (
    MotorCalibration,
    calibration_from_json,
    calibration_to_json,
    read_calibration_file,
)
from yardarm.robots.motors.dynamixel_bus import DynamixelBus
from yardarm.robots.motors.feetech_bus import FeetechBus
from yardarm.robots.motors.health import MotorHealth
from yardarm.robots.motors.register_bus import BusCounts, Motor
from yardarm.robots.motors.scs_bus import ScsBus
from yardarm.robots.motors.sweep import JointSweep
from yardarm.robots.motors.units import DEGREES, PERCENT, SIGNED_PERCENT

__all__ = [
    "DEGREES",
    "PERCENT",
    "SIGNED_PERCENT",
    "BusCounts",
    "DynamixelBus",
    "FeetechBus",
    "JointSweep",
    "Motor",
    "MotorBus",
    "MotorCalibration",
    "MotorHealth",
    "ScsBus",
    "calibration_from_json",
    "calibration_to_json",
    "read_calibration_file",
]
