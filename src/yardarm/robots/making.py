"""Robots and teleoperators by name."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from typing import Any

from yardarm.config import decode, plain_value
from yardarm.errors import UsageError
from yardarm.registry import Registry
from yardarm.robots.cameras import CAMERAS, CameraConfig, camera_configs
from yardarm.robots.elsewhere import refuse_foreign
from yardarm.robots.robot import Robot
from yardarm.robots.teleoperator import Teleoperator

__all__ = [
    "CAMERAS",
    "ROBOTS",
    "TELEOPERATORS",
    "find_driver",
    "make_robot",
    "make_teleoperator",
    "robot_from_data",
    "teleoperator_from_data",
]

HERE = "yardarm.robots"
ROBOTS = Registry(
    "robot",
    "yardarm.robots",
    {
        "so100_follower": f"{HERE}.so_arm:SoFollower",
        "so101_follower": f"{HERE}.so_arm:SoFollower",
        "koch_follower": f"{HERE}.koch:KochFollower",
        "omx_follower": f"{HERE}.omx:OmxFollower",
        "bi_so_follower": f"{HERE}.bi_so:BiSoFollower",
    },
)
TELEOPERATORS = Registry(
    "teleoperator",
    "yardarm.teleoperators",
    {
        "so100_leader": f"{HERE}.teleoperators.so_leader:SoLeader",
        "so101_leader": f"{HERE}.teleoperators.so_leader:SoLeader",
        "koch_leader": f"{HERE}.teleoperators.koch_leader:KochLeader",
        "omx_leader": f"{HERE}.teleoperators.omx_leader:OmxLeader",
        "bi_so_leader": f"{HERE}.teleoperators.bi_so_leader:BiSoLeader",
        "scripted_pick_place": f"{HERE}.teleoperators.scripted:ScriptedPicker",
        "keyboard": f"{HERE}.teleoperators.keyboard:Keyboard",
        "keyboard_ee": f"{HERE}.teleoperators.keyboard:KeyboardHand",
        "gamepad": f"{HERE}.teleoperators.gamepad:Gamepad",
    },
)


def make_robot(type: str, **options: Any) -> Robot:
    """A robot by its type's name; `options` are the flags below ``--robot.``: port, id, …"""
    return robot_from_data({"type": type, **options})


def make_teleoperator(type: str, **options: Any) -> Teleoperator:
    """A teleoperator by its type's name; `options` are the flags below ``--teleop.``: port, id, …"""
    return teleoperator_from_data({"type": type, **options})


def robot_from_data(data: Any, command: str = "robot info") -> Robot:
    """A robot from its section of a configuration; `command` is the one whose help lists the flags."""
    robot: Robot = _made(ROBOTS, "robot", data, command)
    return robot


def teleoperator_from_data(data: Any, command: str = "robot info") -> Teleoperator:
    """A teleoperator from its section of a configuration; `command` is the one whose help lists the flags."""
    teleoperator: Teleoperator = _made(TELEOPERATORS, "teleop", data, command)
    return teleoperator


def find_driver(registry: Registry, type: str) -> Any:
    """The class behind a type's name; what only LeRobot can drive is answered in one line."""
    if type not in registry.names():
        refuse_foreign(registry.kind, type)
    return registry.load(type)


def _made(registry: Registry, section: str, data: Any, command: str) -> Any:
    if not isinstance(data, Mapping):
        raise UsageError(f"--{section} must have options, such as --{section}.type=…, got {data!r}")
    options = dict(data)
    type = options.pop("type", None)
    if not isinstance(type, str) or not type:
        raise UsageError(f"--{section}.type is missing; use one of {', '.join(registry.names())}")
    driver = find_driver(registry, type)
    return driver(_decoded(driver.config_class, section, options, command))


def _decoded(kind: type, section: str, options: Mapping[str, Any], command: str) -> Any:
    """A configuration; the options of each arm of a pair are below the arm's own name: ``left_arm_config.port``."""
    hints = typing.get_type_hints(kind)
    cameras = {name: value for name, value in options.items() if name.partition(".")[0] == "cameras"}
    if hints.get("cameras") == dict[str, CameraConfig]:
        options = {name: value for name, value in options.items() if name not in cameras}
    elif "cameras" not in hints:
        options = _without_cameras(section, options)
    arms = [field.name for field in dataclasses.fields(kind) if dataclasses.is_dataclass(hints[field.name])]
    own = {name: value for name, value in options.items() if name.partition(".")[0] not in arms}
    config = decode(kind, section, own, command)
    if hints.get("cameras") == dict[str, CameraConfig]:
        config.cameras = camera_configs(f"{section}.cameras", cameras)
    for arm in arms:
        setattr(config, arm, _decoded(hints[arm], f"{section}.{arm}", _below(section, arm, options), command))
    return config


def _below(section: str, name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of an arm: by a mapping, and by dotted names, which win."""
    whole = plain_value(options.get(name, {}))
    if not isinstance(whole, Mapping):
        raise UsageError(f"--{section}.{name} must have options, such as --{section}.{name}.port=…, got {whole!r}")
    dotted = {key.removeprefix(f"{name}."): value for key, value in options.items() if key.startswith(f"{name}.")}
    return {**whole, **dotted}


def _without_cameras(section: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a robot that has no cameras; an empty map of them, as LeRobot's users type it, is fine."""
    cameras = [name for name in options if name.partition(".")[0] == "cameras"]
    if any(plain_value(options[name]) for name in cameras):
        raise UsageError(f"--{section}.cameras: this type has no cameras; omit it")
    return {name: value for name, value in options.items() if name not in cameras}
