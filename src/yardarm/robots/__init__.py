"""Robots and teleoperators: real ones, by the names, flags and units that LeRobot gives them. Needs no torch."""

from yardarm.robots.bus_device import BODY, BusDeviceConfig
from yardarm.robots.cameras import Camera, CameraConfig, CameraStatus, make_camera
from yardarm.robots.clock import Clock, HostClock
from yardarm.robots.dataset_features import dataset_features
from yardarm.robots.device import DeviceConfig
from yardarm.robots.guarded import Guarded, GuardOptions, guard
from yardarm.robots.keys import Keys
from yardarm.robots.making import (
    CAMERAS,
    ROBOTS,
    TELEOPERATORS,
    find_driver,
    make_robot,
    make_teleoperator,
    robot_from_data,
    teleoperator_from_data,
)
from yardarm.robots.operator import Operator, TerminalOperator
from yardarm.robots.reading import Frame, Reading
from yardarm.robots.robot import BusRobot, BusRobotConfig, Robot
from yardarm.robots.teleoperator import BusLeader, Teleoperator

__all__ = [
    "BODY",
    "CAMERAS",
    "ROBOTS",
    "TELEOPERATORS",
    "BusDeviceConfig",
    "BusLeader",
    "BusRobot",
    "BusRobotConfig",
    "Camera",
    "CameraConfig",
    "CameraStatus",
    "Clock",
    "DeviceConfig",
    "Frame",
    "GuardOptions",
    "Guarded",
    "HostClock",
    "Keys",
    "Operator",
    "Reading",
    "Robot",
    "Teleoperator",
    "TerminalOperator",
    "dataset_features",
    "find_driver",
    "guard",
    "make_camera",
    "make_robot",
    "make_teleoperator",
    "robot_from_data",
    "teleoperator_from_data",
]
