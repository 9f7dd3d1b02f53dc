"""The flags below ``--ee.``: how a teleoperator without joints moves an arm's hand."""

from __future__ import annotations

from typing import Any

from yardarm.cli.flags import describe
from yardarm.config import decode
from yardarm.control import Process
from yardarm.errors import UsageError
from yardarm.robots import Robot, Teleoperator

__all__ = ["ee_rows", "take_process"]

EE = "ee"


def take_process(data: dict[str, Any], teleoperator: Teleoperator, robot: Robot, command: str) -> Process | None:
    """What turns the teleoperator's actions into the robot's, by the section ``ee``, which is removed."""
    from yardarm.control.processing import EeOptions, processor_between

    given = data.pop(EE, {})
    options: EeOptions = decode(EeOptions, EE, given, command)
    process = processor_between(teleoperator, robot, options)
    if given and process is None:
        raise UsageError(f"--ee.… is for what moves a hand, such as keyboard_ee; {teleoperator} moves joints: omit it")
    return process


def ee_rows() -> list[tuple[str, str, str]]:
    """The lines of ``--help`` for the section."""
    from yardarm.control.processing import EeOptions

    return describe(EeOptions, f"{EE}.")
