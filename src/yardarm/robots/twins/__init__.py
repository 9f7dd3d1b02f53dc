"""Twins: arms without hardware, whose motors answer behind a pseudo-terminal as real ones do, and move in MuJoCo."""

from yardarm.robots.twins.chain import MotorChain
from yardarm.robots.twins.door import RemoteTwin, TwinSpec, TwinState, open_door
from yardarm.robots.twins.motion import Motion, joint_name, read_motion
from yardarm.robots.twins.options import PortLink, TwinOptions, TwinPlan, plan_twin
from yardarm.robots.twins.painter import Painted, Painter, Viewpoint, borrow_drawing, return_drawing
from yardarm.robots.twins.posed_arm import posed_arms
from yardarm.robots.twins.servo import DynamixelServo, FeetechServo, Servo
from yardarm.robots.twins.stage import Stage, StageOptions
from yardarm.robots.twins.time import TwinTime
from yardarm.robots.twins.twin import JointState, Script, Twin

__all__ = [
    "DynamixelServo",
    "FeetechServo",
    "JointState",
    "Motion",
    "MotorChain",
    "Painted",
    "Painter",
    "PortLink",
    "RemoteTwin",
    "Script",
    "Servo",
    "Stage",
    "StageOptions",
    "Twin",
    "TwinOptions",
    "TwinPlan",
    "TwinSpec",
    "TwinState",
    "TwinTime",
    "Viewpoint",
    "borrow_drawing",
    "joint_name",
    "open_door",
    "plan_twin",
    "posed_arms",
    "read_motion",
    "return_drawing",
]
