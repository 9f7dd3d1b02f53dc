"""Robots and teleoperators by name."""

from __future__ import annotations

from typing import Any

from yardarm.config import decode
from yardarm.errors import UsageError
from yardarm.registry import Registry
from yardarm.robots.robot import Robot
from yardarm.robots.teleoperator import Teleoperator

__all__ = ["ROBOTS", "TELEOPERATORS", "make_robot", "make_teleoperator"]

HERE = "yardarm.robots"
ROBOTS = Registry(
    "robot",
    "yardarm.robots",
    {
        "so100_follower": f"{HERE}.so_arm:SoFollower",
        "so101_follower": f"{HERE}.so_arm:SoFollower",
        "koch_follower": f"{HERE}.koch:KochFollower",
        "omx_follower": f"{HERE}.omx:OmxFollower",
    },
)
TELEOPERATORS = Registry(
    "teleoperator",
    "yardarm.teleoperators",
    {
        "so100_leader": f"{HERE}.teleoperators.so_leader:SoLeader",
        "so101_leader": f"{HERE}.teleoperators.so_leader:SoLeader",
        "koch_leader": f"{HERE}.teleoperators.koch_leader:KochLeader",
    },
)


def make_robot(type: str, **options: Any) -> Robot:
    """A robot by its type's name; `options` are the flags below ``--robot.``: port, id, …"""
    robot: Robot = _make(ROBOTS, type, "robot", options)
    return robot


def make_teleoperator(type: str, **options: Any) -> Teleoperator:
    """A teleoperator by its type's name; `options` are the flags below ``--teleop.``: port, id, …"""
    teleoperator: Teleoperator = _make(TELEOPERATORS, type, "teleop", options)
    return teleoperator


def _make(registry: Registry, type: str, section: str, options: dict[str, Any]) -> Any:
    if not isinstance(type, str):
        raise UsageError(f"the type of a {registry.kind} is a name, such as {registry.names()[0]!r}, got {type!r}")
    driver = registry.load(type)
    return driver(decode(driver.config_class, section, options, "robot"))
