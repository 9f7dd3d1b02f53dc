"""Where calibrations are kept: LeRobot's places, so that both find the same files."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["ROBOTS_FOLDER", "TELEOPERATORS_FOLDER", "calibration_folder"]

ROBOTS_FOLDER, TELEOPERATORS_FOLDER = "robots", "teleoperators"


def calibration_folder(kind: str, name: str) -> Path:
    """The folder of a robot's or a teleoperator's calibrations, unless its user names another."""
    if own := os.environ.get("HF_LEROBOT_CALIBRATION"):
        return Path(own).expanduser() / kind / name
    return _lerobot_home() / "calibration" / kind / name


def _lerobot_home() -> Path:
    if own := os.environ.get("HF_LEROBOT_HOME"):
        return Path(own).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return Path(os.environ.get("HF_HOME") or Path(cache) / "huggingface").expanduser() / "lerobot"
