"""Twins: motors that live behind a pseudo-terminal, and answer as real ones do."""

from yardarm.robots.twins.chain import MotorChain
from yardarm.robots.twins.servo import DynamixelServo, FeetechServo, Servo

__all__ = ["DynamixelServo", "FeetechServo", "MotorChain", "Servo"]
