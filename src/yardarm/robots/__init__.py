"""Robots and teleoperators: real ones, by the names, flags and units that LeRobot gives them. Needs no torch."""

from yardarm.robots.making import ROBOTS, TELEOPERATORS, make_robot, make_teleoperator
from yardarm.robots.robot import Robot
from yardarm.robots.teleoperator import Teleoperator

__all__ = ["ROBOTS", "TELEOPERATORS", "Robot", "Teleoperator", "make_robot", "make_teleoperator"]
