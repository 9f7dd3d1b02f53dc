"""Robots and teleoperators on the command line: ``--robot.type=so101_follower --robot.port=…``, and their help."""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Sequence
from typing import Any

from yardarm.cli.flags import Flags, describe, text
from yardarm.errors import UsageError
from yardarm.registry import Registry
from yardarm.robots import (
    CAMERAS,
    ROBOTS,
    TELEOPERATORS,
    DeviceConfig,
    Robot,
    Teleoperator,
    find_driver,
    robot_from_data,
    teleoperator_from_data,
)

__all__ = ["ROBOT", "TELEOP", "device_rows", "take_arms", "take_device", "take_robot", "take_teleoperator"]

ROBOT, TELEOP = "robot", "teleop"
REGISTRIES: dict[str, Registry] = {ROBOT: ROBOTS, TELEOP: TELEOPERATORS}


def take_robot(data: dict[str, Any], command: str) -> Robot | None:
    """The robot of the section ``robot``, which is removed; None if there is none."""
    return robot_from_data(data.pop(ROBOT), command) if ROBOT in data else None


def take_teleoperator(data: dict[str, Any], command: str) -> Teleoperator | None:
    """The teleoperator of the section ``teleop``, which is removed; None if there is none."""
    return teleoperator_from_data(data.pop(TELEOP), command) if TELEOP in data else None


def take_arms(data: dict[str, Any], command: str, otherwise: str = "") -> tuple[Robot, Teleoperator]:
    """The robot and the teleoperator of a command that needs both; `otherwise` says what else a user may have meant."""
    robot, teleoperator = take_robot(data, command), take_teleoperator(data, command)
    if robot is None or teleoperator is None:
        raise UsageError(
            "which arms? Give --robot.type=so101_follower --robot.port=… and --teleop.type=so101_leader "
            f"--teleop.port=…{otherwise}"
        )
    return robot, teleoperator


def take_device(data: dict[str, Any], command: str) -> Robot | Teleoperator:
    """The one device that a command is about: a robot or a teleoperator."""
    if ROBOT in data and TELEOP in data:
        raise UsageError(f"yardarm {command} is for one device; give --robot.… or --teleop.…, not both")
    device = take_robot(data, command) or take_teleoperator(data, command)
    if device is None:
        raise UsageError(
            "which arm? Give --robot.type=so101_follower --robot.port=/dev/ttyACM0 (or --teleop.type=…); "
            "`yardarm find-port` lists what is plugged in"
        )
    return device


def device_rows(flags: Flags, sections: Sequence[str] = (ROBOT, TELEOP)) -> list[tuple[str, str, str]]:
    """The lines of ``--help`` for these sections; those of a chosen type list its options."""
    rows: list[tuple[str, str, str]] = []
    for section in sections:
        registry = REGISTRIES[section]
        rows.append((f"--{section}.type", "", f"{', '.join(registry.names())}; add --help to list its options"))
        rows.append((f"--{section}=…", "", f"short for --{section}.type=…"))
        if chosen := text(flags, f"{section}.type") or text(flags, section):
            rows += _options(find_driver(registry, chosen).config_class, f"{section}.")
            rows += _camera_options(flags, section)
    if not any(name.endswith(".port") for name, _, _ in rows):
        example = sections[0]
        rows.append((f"--{example}.port", "", "the serial port, such as /dev/ttyACM0; `yardarm find-port` lists them"))
        rows.append((f"--{example}.id", "", "a name for this device: its calibration is kept under it"))
    rows.append(("--config_path", "", "a YAML or JSON file with these options"))
    return rows


def _camera_options(flags: Flags, section: str) -> list[tuple[str, str, str]]:
    """The options of cameras whose types were given by dotted flags."""
    rows: list[tuple[str, str, str]] = []
    for flag, type in flags.items():
        if re.fullmatch(rf"{section}(\.\w+_arm_config)?\.cameras\.\w+\.type", flag):
            rows.append((f"--{flag}", "", f"{', '.join(CAMERAS.names())}"))
            rows += describe(find_driver(CAMERAS, type).config_class, flag.removesuffix("type"))
    return rows


def _options(kind: type, prefix: str) -> list[tuple[str, str, str]]:
    """The options of a type; those of each arm of a pair are below the arm's name."""
    rows = describe(kind, prefix)
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        if dataclasses.is_dataclass(own := hints[field.name]):
            inner = f"{prefix}{field.name}."
            pairs_own = [f"--{inner}{shared.name}" for shared in dataclasses.fields(DeviceConfig)]
            rows += [row for row in describe(own, inner) if row[0] not in pairs_own]  # type: ignore[arg-type]
    return rows
