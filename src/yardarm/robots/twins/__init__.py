"""Twins: arms without hardware, whose motors answer behind a pseudo-terminal as real ones do, and move in MuJoCo."""

from yardarm.robots.twins.chain import MotorChain
from yardarm.robots.twins.motion import Motion, read_motion
from yardarm.robots.twins.servo import DynamixelServo, FeetechServo, Servo
from yardarm.robots.twins.twin import JointState, Script, Twin, driver_of

__all__ = [
    "DynamixelServo",
    "FeetechServo",
    "JointState",
    "Motion",
    "MotorChain",
    "Script",
    "Servo",
    "Twin",
    "driver_of",
    "read_motion",
]
