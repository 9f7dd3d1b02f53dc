"""A motor's calibration, and LeRobot's files of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from yardarm.errors import UsageError

__all__ = ["MotorCalibration", "calibration_from_json", "calibration_to_json", "read_calibration_file"]

FIELDS = ("id", "drive_mode", "homing_offset", "range_min", "range_max")


@dataclass(frozen=True, slots=True)
class MotorCalibration:
    """Where a motor's middle and its ends are, in steps."""

    id: int
    drive_mode: int
    homing_offset: int
    range_min: int
    range_max: int


def calibration_to_json(calibration: Mapping[str, MotorCalibration]) -> str:
    """The text of a calibration file, to the byte as LeRobot writes it."""
    return json.dumps({name: asdict(own) for name, own in calibration.items()}, indent=4)


def calibration_from_json(text: str, source: str) -> dict[str, MotorCalibration]:
    """Read a calibration file's text; `source` names it in messages."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{source} is not JSON: {error}; restore the file, or delete it and calibrate again") from None
    if not isinstance(data, dict):
        raise UsageError(
            f"{source} must map motors to their calibration; restore the file, or delete it and calibrate again"
        )
    return {str(name): _calibration(f"{source}: '{name}'", own) for name, own in data.items()}


def read_calibration_file(path: Path) -> dict[str, MotorCalibration]:
    """A calibration from disk."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}; calibrate again, or restore the file") from None
    return calibration_from_json(text, str(path))


def _calibration(where: str, data: Any) -> MotorCalibration:
    if not isinstance(data, dict) or sorted(data) != sorted(FIELDS):
        raise UsageError(f"{where} must have {', '.join(FIELDS)}")
    for name in FIELDS:
        if not isinstance(data[name], int) or isinstance(data[name], bool):
            raise UsageError(f"{where} must have a whole number as {name}, got {data[name]!r}")
    own = MotorCalibration(**data)
    if own.range_min >= own.range_max:
        raise UsageError(f"{where} has no range: it goes from {own.range_min} to {own.range_max}; calibrate again")
    return own
