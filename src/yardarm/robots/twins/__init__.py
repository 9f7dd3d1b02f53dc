"""Twins: arms without hardware, whose motors answer behind a pseudo-terminal as real ones do, and move in MuJoCo."""

from yardarm.robots.twins.chain import MotorChain
from yardarm.robots.twins.motion import Motion, joint_name, read_motion
from yardarm.robots.twins.options import PortLink, TwinOptions, TwinPlan, plan_twin
from yardarm.robots.twins.painter import Painter, Viewpoint
from yardarm.robots.twins.servo import DynamixelServo, FeetechServo, Servo
from yardarm.robots.twins.twin import JointState, Script, Twin

__all__ = [
    "DynamixelServo",
    "FeetechServo",
    "JointState",
    "Motion",
    "MotorChain",
    "Painter",
    "PortLink",
    "Script",
    "Servo",
    "Twin",
    "TwinOptions",
    "TwinPlan",
    "Viewpoint",
    "joint_name",
    "plan_twin",
    "read_motion",
]
